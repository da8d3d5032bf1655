#pragma once
/// A long recording that looks like one of kernel counters, and does not take its length to make.

#include <cstdint>
#include <string>

namespace attune::bench {

/// A file in $TMPDIR (or /tmp) that goes away with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

/// One stream of this many counters, if nothing else is said, ids from 1, sampled at 1 kHz.
inline constexpr int64_t kSyntheticSeries = 100;
inline constexpr int64_t kSyntheticPeriodNs = 1'000'000;

/// Writes `values` values of `series` counters as a session of that length does: a frame each half second. Of 100
/// counters 55 stand almost still, 30 move at some rows, 10 at many and 5 at each one; the times jitter by
/// microseconds.
/// @return the bytes of the file. Ends the program if it cannot be written
uint64_t WriteSyntheticRecording(const std::string& path, int64_t values, int64_t series = kSyntheticSeries);

}  // namespace attune::bench
