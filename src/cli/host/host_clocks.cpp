#include "cli/host/host_clocks.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/units.h"
#include "model/job_keys.h"

namespace attune::cli {
namespace {

namespace info = model::info;

constexpr int64_t kMostHosts = 65'536;

/// Offsets are as large as the time between two starts of machines, and as exact as a microsecond.
std::string Offset(int64_t ns) { return fmt::format("{:+.6f} s", static_cast<double>(ns) * 1e-9); }

std::string Drift(int64_t ppb) { return fmt::format("{:+.3f} us/s", static_cast<double>(ppb) * 1e-3); }

}  // namespace

TextTable HostClockTable(const std::vector<HostClockRow>& rows) {
  using Align = TextTable::Align;
  const bool has_ranks = !rows.empty() && rows.front().ranks >= 0;
  std::vector<TextTable::Column> columns{{"host"}};
  if (has_ranks) columns.push_back({"ranks", Align::kRight});
  for (const char* heading : {"clock", "drift", "within"}) columns.push_back({heading, Align::kRight});
  columns.push_back({"by"});
  TextTable table(columns);
  for (size_t i = 0; i < rows.size(); ++i) {
    const HostClockRow& row = rows[i];
    std::vector<std::string> cells{Printable(row.host)};
    if (has_ranks) cells.push_back(std::to_string(row.ranks));
    for (const std::string& figure : {Offset(row.offset_ns), Drift(row.drift_ppb), FormatDuration(row.bound_ns)})
      cells.push_back(i == 0 ? "-" : figure);
    cells.push_back(Printable(row.evidence));
    table.AddRow(std::move(cells));
  }
  return table;
}

std::vector<HostClockRow> HostClocksOf(const std::map<std::string, std::string>& all) {
  const auto text = [&all](const std::string& key) {
    const auto row = all.find(key);
    return row == all.end() ? std::string() : row->second;
  };
  const auto number = [&](const std::string& key) { return std::atoll(text(key).c_str()); };
  std::vector<HostClockRow> rows;
  const int64_t hosts = number(std::string(info::kMergedHosts));
  for (int64_t i = 1; i <= hosts && i <= kMostHosts; ++i) {
    const auto key = [i](std::string_view name) { return fmt::format("{}{}.{}", info::kMergedPrefix, i, name); };
    if (text(key(info::kMergedEvidence)).empty()) break;
    rows.push_back({.host = text(key(info::kMergedHost)),
                    .offset_ns = number(key(info::kMergedOffsetNs)),
                    .drift_ppb = number(key(info::kMergedDriftPpb)),
                    .bound_ns = number(key(info::kMergedBoundNs)),
                    .evidence = text(key(info::kMergedEvidence))});
  }
  return rows;
}

std::string BackwardText(int64_t backward) {
  return backward == 0 ? "none of which arrives before it left"
                       : fmt::format("{} of which still arrive before they left", backward);
}

}  // namespace attune::cli
