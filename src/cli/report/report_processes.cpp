/// The processes, as a tree.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/saturating.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::Summary;
using model::kAbsent;

int64_t Lifetime(const model::Process& process) {
  int64_t length = kAbsent;
  if (process.start_ns == kAbsent || process.end_ns == kAbsent ||
      __builtin_sub_overflow(process.end_ns, process.start_ns, &length) || length < 0) {
    return kAbsent;
  }
  return length;
}

/// Rows of the process table: a process, or all processes of one parent with the same command line and no children.
struct ProcessRow {
  const analysis::ProcessSummary* first = nullptr;
  analysis::ProcessTotals totals;
  int64_t count = 0;
  int64_t lifetime_ns = 0;
};

void AddKnown(int64_t& sum, int64_t value) {
  if (value < 0) return;
  if (sum == kAbsent) sum = 0;
  AddTo(sum, value);
}

void Merge(ProcessRow& row, const analysis::ProcessSummary& added) {
  const model::Process& process = added.process;
  ++row.count;
  AddKnown(row.lifetime_ns, Lifetime(process));
  AddKnown(row.totals.user_ns, process.user_ns);
  AddKnown(row.totals.system_ns, process.system_ns);
  AddKnown(row.totals.minor_faults, process.minor_faults);
  AddKnown(row.totals.major_faults, process.major_faults);
  AddKnown(row.totals.voluntary_switches, process.voluntary_switches);
  AddKnown(row.totals.involuntary_switches, process.involuntary_switches);
  row.totals.max_rss_bytes = std::max(row.totals.max_rss_bytes, process.max_rss_bytes);
  row.totals.threads += added.threads;
  if ((process.exit_code != kAbsent && process.exit_code != 0) ||
      (process.exit_signal != kAbsent && process.exit_signal != 0)) {
    ++row.totals.failed;
  }
}

/// Groups processes that are alike: a shell script's five hundred `grep`s are one row.
std::vector<ProcessRow> GroupProcesses(const Summary& summary) {
  const auto& all = summary.processes;
  std::map<std::tuple<model::ElementId, std::string_view, int>, size_t> group_of;
  std::vector<ProcessRow> rows;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool has_children = i + 1 < all.size() && all[i + 1].depth > all[i].depth;
    const auto key = std::tuple(all[i].process.parent, std::string_view(all[i].process.command), all[i].depth);
    const auto found = group_of.find(key);
    if (!has_children && found != group_of.end()) {
      Merge(rows[found->second], all[i]);
      continue;
    }
    if (!has_children) group_of[key] = rows.size();
    rows.push_back({.first = &all[i]});
    Merge(rows.back(), all[i]);
  }
  return rows;
}

std::vector<std::string> ProcessCells(const ReportPage& page, const ProcessRow& row) {
  const model::Process& process = row.first->process;
  const std::string indent(static_cast<size_t>(std::min(row.first->depth, 12)) * 2, ' ');
  const std::string start =
      process.start_ns == kAbsent
          ? "-"
          : fmt::format("{:+.2f} s", static_cast<double>(process.start_ns - page.summary.extent.t0_ns) * 1e-9);
  std::string ending = Ending(process, page.summary.growing);
  if (row.count > 1) ending = row.totals.failed == 0 ? "0" : fmt::format("{} failed", row.totals.failed);
  const std::string times = row.count > 1 ? fmt::format("{} x ", row.count) : "";
  return {row.count > 1 ? "" : std::to_string(process.pid),
          start,
          row.count > 1 || Lifetime(process) != kAbsent ? Duration(row.lifetime_ns) : "-",
          Duration(row.totals.user_ns),
          Duration(row.totals.system_ns),
          Count(row.totals.voluntary_switches),
          Count(row.totals.involuntary_switches),
          Count(row.totals.minor_faults),
          Count(row.totals.major_faults),
          Bytes(row.totals.max_rss_bytes),
          row.totals.threads > 0 ? std::to_string(row.totals.threads) : "-",
          ending,
          indent + times + Printable(process.command)};
}

}  // namespace

void PrintProcesses(const ReportPage& page) {
  if (page.summary.processes.empty()) return;
  std::vector<ProcessRow> rows = GroupProcesses(page.summary);
  // The largest by CPU time stay, in the order of the tree.
  std::vector<size_t> by_cpu(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) by_cpu[i] = i;
  std::stable_sort(by_cpu.begin(), by_cpu.end(),
                   [&](size_t a, size_t b) { return rows[a].totals.CpuNs() > rows[b].totals.CpuNs(); });
  std::vector<size_t> shown(by_cpu.begin(),
                            by_cpu.begin() + static_cast<long>(std::min(page.options.top, by_cpu.size())));
  std::sort(shown.begin(), shown.end());

  page.Heading("Processes", fmt::format("{}, {}", Plural(page.summary.totals.processes, "process"),
                                        Plural(page.summary.totals.threads, "thread")));
  TextTable table = NumbersBeforeName({{"pid"},
                                       {"start", true},
                                       {"lasted"},
                                       {"user"},
                                       {"system"},
                                       {"waits"},
                                       {"preempted", true},
                                       {"faults"},
                                       {"major", true},
                                       {"max RSS"},
                                       {"threads", true},
                                       {"exit"},
                                       {"command"}});
  for (const size_t i : shown) table.AddRow(ProcessCells(page, rows[i]));
  page.Table(table);
  if (shown.size() == rows.size()) return;
  int64_t rest = 0;
  int64_t rest_cpu = kAbsent;
  for (size_t i = page.options.top; i < by_cpu.size(); ++i) {
    rest += rows[by_cpu[i]].count;
    AddKnown(rest_cpu, rows[by_cpu[i]].totals.CpuNs());
  }
  page.More(Plural(rest, "process") + " more, " + Duration(rest_cpu) + " of CPU time together");
}

}  // namespace attune::cli
