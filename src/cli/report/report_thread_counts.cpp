/// Events of each thread and each kind of cores, and their sums.

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/counters/counts_report.h"
#include "cli/report/report_page.h"

namespace attune::cli {
namespace {

using analysis::ThreadCounts;

void AddRow(TextTable& table, const ThreadCounts& counts, const std::vector<double>& values, const std::string& name) {
  std::vector<std::string> cells;
  for (size_t i = 0; i < values.size(); ++i)
    cells.push_back(
        ValueText({counts.events[i], {counter::Event()}, std::string(counter::UnitOf(counts.events[i]))}, values[i]));
  cells.push_back(name);
  table.AddRow(std::move(cells));
}

std::string NameOf(const analysis::ThreadCountRow& thread) {
  if (thread.tid == model::kAbsent) return "short-lived threads";
  return thread.name.empty() ? std::to_string(thread.tid) : fmt::format("{} ({})", thread.tid, Printable(thread.name));
}

/// A column for each event, then one of names.
TextTable TableOf(const ThreadCounts& counts, const char* name) {
  std::vector<TextTable::Column> columns;
  for (size_t i = 0; i < counts.events.size(); ++i)
    columns.push_back({(counts.is_scaled[i] ? "~" : "") + Printable(counts.events[i]), TextTable::Align::kRight,
                       TextTable::Narrow::kWhole});
  columns.push_back({name, TextTable::Align::kLeft, TextTable::Narrow::kShortened});
  return TextTable(columns);
}

void PrintCoreTypes(const ReportPage& page, const ThreadCounts& counts) {
  if (counts.core_types.empty()) return;
  page.Heading("Events on each kind of cores", "0 is the most capable");
  TextTable table = TableOf(counts, "core type");
  for (const analysis::CoreTypeCountRow& row : counts.core_types)
    AddRow(table, counts, row.counts,
           row.type == model::kAbsent
               ? "not known"
               : fmt::format("{} ({})", row.type, Plural(static_cast<int64_t>(row.cpus), "CPU")));
  page.Table(table);
}

}  // namespace

void PrintThreadCounts(const ReportPage& page) {
  const ThreadCounts& counts = page.summary.thread_counts;
  if (counts.events.empty()) return;
  page.Heading("Events of each thread",
               std::ranges::count(counts.is_scaled, true) > 0 ? "~: not counted all the time, and scaled" : "");
  TextTable table = TableOf(counts, "thread");
  const size_t shown = std::min(counts.threads.size(), page.options.top);
  for (const auto& thread : std::span(counts.threads).first(shown))
    AddRow(table, counts, thread.counts, NameOf(thread));
  if (counts.threads.size() > 1) AddRow(table, counts, counts.totals, "all");
  page.Table(table);
  if (shown < counts.threads.size())
    page.More(Plural(static_cast<int64_t>(counts.threads.size() - shown), "thread") + " more");
  PrintCoreTypes(page, counts);
}

}  // namespace attune::cli
