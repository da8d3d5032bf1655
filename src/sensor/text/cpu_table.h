#pragma once
/// Reads tables with a line for each key and a column for each CPU (/proc/interrupts, /proc/softirqs) again and again,
/// fast.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"

namespace attune::sensor {

/// Keeps the sum of each line and of each CPU. The kernel's counts have 32 bits: sums go on when one wraps, and what a
/// CPU counted stays in them when it goes offline; what one that comes later had counted is left out. A count that
/// falls otherwise was reset: it counts from 0 again.
///
/// Parses by position, as KeyValueText: of a text of the layout before, lines that did not change cost a comparison,
/// and of the others only the cells that did change are parsed. Any other layout is learned again; keys that were not
/// there at the start are ignored.
///
/// @thread one at a time  @cost 512 CPUs x 200 lines: see bench/sensor
class CpuTable {
 public:
  struct Row {
    std::string key;   ///< "24", "LOC", "NET_RX"
    std::string what;  ///< the kernel's text behind the counts: "Local timer interrupts"
  };

  /// @param cpus those that may have a column, now or later; empty: those of the text
  /// @return kCorrupt if the first line names no CPU, or no line has a count
  Status Learn(std::string_view text, const CpuSet& cpus);
  const std::vector<Row>& Rows() const { return rows_; }
  const std::vector<CpuId>& Cpus() const { return cpus_; }
  /// The largest text that Parse can take without allocating.
  size_t Capacity() const { return before_.size(); }

  /// @param text at most Capacity() bytes (the rest is ignored). Does not allocate
  void Parse(std::string_view text);
  /// As of the last Parse, or of Learn; kAbsent: the line, or the CPU's column, was not there.
  int64_t RowSum(size_t row) const;
  int64_t CpuSum(size_t cpu) const;

 private:
  struct Line {
    uint32_t length;     ///< with the newline
    uint32_t first_end;  ///< end of the first count, from the line's begin; 0: nothing to parse in this line
    uint32_t cells;      ///< counts, each kCellWidth behind the one before
    int32_t row;         ///< or -1
    bool per_cpu;        ///< a count for each column
  };

  bool ParseChanges(std::string_view text);
  bool ParseLine(const Line& line, const char* now, const char* before);
  /// Fills lines_ from nothing and counts everything. Does not allocate.
  void Relearn(std::string_view text);
  void LearnColumns(std::string_view header);
  Line LearnLine(std::string_view line);
  void Count(const Line& line, size_t column, uint32_t value);
  int32_t FindRow(std::string_view key) const;

  std::vector<Row> rows_;
  std::vector<std::pair<std::string_view, int32_t>> sorted_keys_;  // into rows_
  std::vector<CpuId> cpus_;                                        // ascending
  std::vector<int32_t> columns_;                                   // index in cpus_ of each column, or -1
  std::vector<Line> lines_;
  std::vector<int64_t> counts_;  // rows x cpus: the last count, -1 before the first
  std::vector<int64_t> row_sums_, cpu_sums_;
  std::vector<char> row_there_, cpu_there_;
  std::vector<char> before_;
  size_t before_size_ = 0;
  bool counting_ = false;  ///< false: what was counted until now is taken over. True: a CPU that comes starts from 0
};

}  // namespace attune::sensor
