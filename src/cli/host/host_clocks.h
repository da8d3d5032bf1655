#pragma once
/// The hosts of a merged recording and how their clocks differ, as a table.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"

namespace attune::cli {

struct HostClockRow {
  std::string host;
  int64_t ranks = -1;  ///< negative: not told
  int64_t offset_ns = 0;
  int64_t drift_ppb = 0;
  int64_t bound_ns = 0;
  std::string evidence;
};

TextTable HostClockTable(const std::vector<HostClockRow>& rows);
/// Rows from a recording's info; none: it is not merged.
std::vector<HostClockRow> HostClocksOf(const std::map<std::string, std::string>& info);
/// "none of them arrives before it left"
std::string BackwardText(int64_t backward);

}  // namespace attune::cli
