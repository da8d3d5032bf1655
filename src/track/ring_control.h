#pragma once
/// Commands of a session, or of its stand-in, to the probe of a program: words of the ring file that the probe
/// reads, and calls of functions (wire/ring.h). The file is foreign: it is read and written with pread and pwrite.

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/host_root.h"
#include "base/result.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "model/knob.h"

namespace attune::track {

/// @thread any
class RingControl {
 public:
  /// @param file a ring file  @return kCorrupt: it is none, or of another version
  static Result<RingControl> Open(UniqueFd file);
  /// By way of the memory of a process that has one, where nobody is left who has the file.
  /// @return kNotFound: it has none; kPermission: its memory may not be written
  static Result<RingControl> OpenOf(const HostRoot& host, pid_t pid);
  RingControl(RingControl&& other) noexcept
      : file_(std::move(other.file_)), begin_(other.begin_), pid_(other.pid_), start_ticks_(other.start_ticks_) {}

  /// Process that made the file, by its id in its own PID namespace.
  pid_t pid() const { return pid_; }
  uint64_t start_ticks() const { return start_ticks_; }
  int fd() const { return file_.get(); }

  /// Words: "openmp_team", "openmp_chunk", "openmp_schedule", "machine_alarms", "machine_others",
  /// "machine_seconds"; the probe writes "openmp_widest" and "openmp_loops".
  /// Error: kNotFound: there is no such word
  Result<uint32_t> ReadWord(std::string_view word) const;
  Status WriteWord(std::string_view word, uint32_t value) const;

  /// As model::ProbeChannel::DoCall. @cost waits for a thread of the program
  Result<int64_t> DoCall(const model::ProbeChannel::Call& call, int64_t limit_ns);

 private:
  RingControl() = default;
  static Result<RingControl> OpenAt(UniqueFd file, uint64_t begin);
  Result<uint32_t> ReadAt(uint64_t offset) const;
  Status WriteAt(uint64_t offset, const void* bytes, size_t size) const;

  UniqueFd file_;
  uint64_t begin_ = 0;  ///< position of the ring in it
  pid_t pid_ = 0;
  uint64_t start_ticks_ = 0;
  Mutex calling_;  ///< one call at a time
};

}  // namespace attune::track
