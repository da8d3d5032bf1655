#include "cli/counters/thread_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "cli/counters/counts_report.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

using counter::EventCount;
using counter::NamedEvent;

/// Threads that a table for people names; the others are in one row.
constexpr size_t kMostShown = 30;

std::string Cell(const NamedEvent& event, const EventCount& count) {
  if (!count.is_known) return "-";
  return (count.share < 1 ? "~" : "") + ValueText(event, count.value);
}

/// Sums over threads, and the metrics of the sums. An event that was never counted stays unknown, as virtual counters.
std::vector<EventCount> SumOf(const std::vector<const ThreadRow*>& rows, size_t columns, size_t events,
                              const counter::GroupMetrics& metrics, double seconds) {
  std::vector<EventCount> sum(events);
  for (const ThreadRow* row : rows) {
    for (size_t i = 0; i < events; ++i) {
      const EventCount& count = row->thread.counts[i];
      sum[i].value += count.value;
      sum[i].is_known |= count.is_known;
      if (count.is_known) sum[i].share = std::min(sum[i].share, count.share);
    }
  }
  metrics.Complete(sum, seconds);
  sum.resize(columns);
  return sum;
}

void AddRow(TextTable& table, std::vector<std::string> words, const std::vector<NamedEvent>& columns,
            const std::vector<EventCount>& counts) {
  for (size_t i = 0; i < columns.size(); ++i) words.push_back(Cell(columns[i], counts[i]));
  table.AddRow(std::move(words));
}

/// The most of the first event first.
std::vector<const ThreadRow*> Sorted(const std::vector<ThreadRow>& rows) {
  std::vector<const ThreadRow*> sorted;
  for (const ThreadRow& row : rows) sorted.push_back(&row);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const ThreadRow* row) { return row->thread.counts.front().value; });
  return sorted;
}

}  // namespace

std::string ThreadsText(const std::string& title, const std::vector<NamedEvent>& columns, size_t events,
                        const counter::GroupMetrics& metrics, const ThreadRun& run, size_t width) {
  using Align = TextTable::Align;
  const std::vector<const ThreadRow*> rows = Sorted(run.rows);
  std::set<pid_t> processes;
  for (const ThreadRow* row : rows) {
    if (row->kind != ThreadRow::Kind::kRest) processes.insert(row->thread.pid);
  }
  std::vector<TextTable::Column> table_columns{{"thread", Align::kRight, TextTable::Narrow::kWhole},
                                               {"process", Align::kRight, TextTable::Narrow::kSpared},
                                               {"", Align::kLeft},
                                               {"lived", Align::kRight, TextTable::Narrow::kSpared}};
  for (const NamedEvent& event : columns)
    table_columns.push_back({Printable(event.name), Align::kRight, TextTable::Narrow::kWhole});
  TextTable table(table_columns);
  const size_t shown = rows.size() > kMostShown + 1 ? kMostShown : rows.size();
  for (size_t i = 0; i < shown; ++i) {
    const ThreadRow& row = *rows[i];
    const bool is_rest = row.kind == ThreadRow::Kind::kRest;
    AddRow(table,
           {is_rest ? "" : std::to_string(row.thread.tid), is_rest ? "" : std::to_string(row.thread.pid),
            CleanText(row.thread.name) + (row.kind == ThreadRow::Kind::kTick ? " (lives)" : ""),
            is_rest ? "" : FormatDuration(std::llround(row.lived_s * 1e9))},
           columns, row.thread.counts);
  }
  if (shown < rows.size()) {
    const std::vector<const ThreadRow*> others(rows.begin() + static_cast<ptrdiff_t>(shown), rows.end());
    AddRow(table, {"", "", fmt::format("{} others (--csv has all)", others.size()), ""}, columns,
           SumOf(others, columns.size(), events, metrics, run.seconds));
  }
  if (rows.size() > 1)
    AddRow(table, {"", "", "all", ""}, columns, SumOf(rows, columns.size(), events, metrics, run.seconds));
  return fmt::format("{}: {:.6f} s, {} thread{} of {} process{}\n\n", Printable(title), run.seconds, rows.size(),
                     rows.size() == 1 ? "" : "s", processes.size(), processes.size() == 1 ? "" : "es") +
         table.ToString(2, width) + NotesText(run.notes);
}

namespace {

nlohmann::ordered_json RowJson(const std::vector<NamedEvent>& events, const ThreadRow& row) {
  using Json = nlohmann::ordered_json;
  return {{"kind", KindName(row.kind)},
          {"pid", row.thread.pid},
          {"tid", row.thread.tid},
          {"thread", row.thread.name},
          {"seconds", row.seconds},
          {"lived_s", row.lived_s},
          {"cpu", row.thread.cpu < 0 ? Json(nullptr) : Json(row.thread.cpu)},
          {"core_type", row.thread.cpu < 0 ? Json(nullptr) : Json(row.core_type)},
          {"counts", CountsByName(events, row.thread.counts)}};
}

}  // namespace

nlohmann::ordered_json ThreadsJson(const std::string& title, const std::vector<NamedEvent>& events,
                                   const ThreadRun& run) {
  auto threads = nlohmann::ordered_json::array();
  for (const ThreadRow& row : run.rows) threads.push_back(RowJson(events, row));
  return {{"of", title}, {"seconds", run.seconds}, {"threads", std::move(threads)}, {"notes", NotesJson(run.notes)}};
}

namespace {

/// The CPU that it was on last, and the type of that core; empty: not known.
std::string CpuText(const ThreadRow& row) {
  return row.thread.cpu < 0 ? "," : fmt::format("{},{}", row.thread.cpu, row.core_type);
}

}  // namespace

std::string ThreadHeading(const std::vector<NamedEvent>& events, RowFormat format) {
  if (format == RowFormat::kJson) return "";
  std::string text = format == RowFormat::kCsv
                         ? "seconds,kind,pid,tid,thread,lived,cpu,core_type"
                         : fmt::format("{:>9}  {:4}  {:>8}  {:>8}  {:15}", "s", "", "process", "thread", "");
  for (const NamedEvent& event : events) text += HeadingText(event, format);
  return text + "\n";
}

std::string ThreadRowText(const std::vector<NamedEvent>& events, const ThreadRow& row, RowFormat format) {
  if (format == RowFormat::kJson) return JsonLine(RowJson(events, row));
  const counter::ThreadCounts& thread = row.thread;
  std::string text = format == RowFormat::kCsv
                         ? fmt::format("{:.6f},{},{},{},{},{:.6f},{}", row.seconds, KindName(row.kind), thread.pid,
                                       thread.tid, CsvField(CleanText(thread.name)), row.lived_s, CpuText(row))
                         : fmt::format("{:9.3f}  {:4}  {:8}  {:8}  {:15}", row.seconds, KindName(row.kind), thread.pid,
                                       thread.tid, CleanText(thread.name));
  for (size_t i = 0; i < events.size(); ++i) text += CountText(events[i], thread.counts[i], format);
  return text + "\n";
}

}  // namespace attune::cli
