#pragma once
/// Reads files of "key value" lines (/proc/vmstat, /proc/meminfo, memory.stat) again and again, fast.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attune::sensor {

/// Parses by position: the layout is learned once, and each new text is compared with the one before. Lines that did
/// not change cost a comparison; of a changed line only the digits are parsed. Because every byte is compared, a
/// changed layout (a key that came, went or moved) is always noticed, and learned again: keys that went are absent, new
/// ones are ignored.
///
/// @thread one at a time  @cost 0.5 us for the 192 keys of vmstat, read each ms
class KeyValueText {
 public:
  /// Learns keys and layout. A key ends at a space or colon, its value is the first number after it; lines without one
  /// are skipped, and so is a key that comes again. @return kCorrupt if no line has a value
  Status Learn(std::string_view text);
  /// In the order of the file.
  const std::vector<std::string>& Keys() const { return keys_; }
  /// The largest text that Parse can take without allocating.
  size_t Capacity() const { return before_.size(); }

  /// @param text at most Capacity() bytes (the rest is ignored)  @param out one value a key; kAbsent: not there, no
  /// number
  void Parse(std::string_view text, std::span<int64_t> out);
  /// All of them, as of the last Parse() or Learn().
  std::span<const int64_t> Values() const { return values_; }

 private:
  struct Line {
    uint32_t value_at;  ///< just after the key's separator, from the line's begin
    uint32_t length;    ///< with the newline
    int32_t column;     ///< index of the key, or -1
  };

  /// False: the layout is not the one in lines_.
  bool ParseChanges(std::string_view text);
  /// Fills lines_ and values_ from nothing. Does not allocate: lines beyond the reserved number are ignored.
  void Relearn(std::string_view text);
  int32_t FindColumn(std::string_view key) const;

  std::vector<std::string> keys_;
  std::vector<std::pair<std::string_view, int32_t>> sorted_keys_;  // into keys_
  std::vector<Line> lines_;
  std::vector<int64_t> values_;
  std::vector<char> before_;  // the text before, to compare with
  size_t before_size_ = 0;
};

}  // namespace attune::sensor
