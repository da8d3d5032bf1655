#include "analysis/report/thread_counts.h"

#include <algorithm>
#include <map>

#include "counter/event.h"
#include "model/rows.h"
#include "model/table_ranges.h"

namespace attune::analysis {
namespace {

/// Position of the event in the list; it is appended where it is not there yet.
size_t IndexOf(std::vector<std::string>& events, const std::string& event) {
  const auto found = std::ranges::find(events, event);
  if (found != events.end()) return static_cast<size_t>(found - events.begin());
  events.push_back(event);
  return events.size() - 1;
}

ThreadCountRow RowOf(const model::Metadata& meta, model::ElementId id) {
  ThreadCountRow row{.element = id};
  const model::Element* const element = meta.FindElement(id);
  if (element == nullptr || element->kind != model::ElementKind::kThread) return row;
  row.tid = element->os_id;
  row.name = element->name;
  row.start_ns = element->start_ns;
  row.end_ns = element->end_ns;
  const model::Element* const process = meta.FindElement(element->parent);
  if (process == nullptr) return row;
  row.process = process->id;
  row.pid = process->os_id;
  row.process_name = process->name;
  return row;
}

}  // namespace

Result<ThreadCounts> SumThreadCounts(model::Source& source, const std::optional<model::TimeRange>& range) {
  ThreadCounts counts;
  std::map<model::ElementId, std::vector<double>> sums;
  const auto add = [&](const model::Batch& batch) {
    for (const model::ThreadCount& row : model::RowsFrom<model::ThreadCount>(batch)) {
      if (range && (row.t_ns < range->t0_ns || row.t_ns >= range->t1_ns)) continue;
      const size_t event = IndexOf(counts.events, row.event);
      counts.is_scaled.resize(counts.events.size());
      if (row.counted_ppm < 999'999) counts.is_scaled[event] = true;
      std::vector<double>& of_thread = sums[row.element];
      if (of_thread.size() <= event) of_thread.resize(event + 1);
      of_thread[event] += static_cast<double>(row.count);
    }
    return true;
  };
  ATTUNE_CHECK_OK(range ? model::ReadTableWithin(source, model::ThreadCount::kTable, *range, add)
                        : model::ReadRows(source, model::ThreadCount::kTable, add));
  const std::shared_ptr<const model::Metadata> meta = source.Meta();
  counts.totals.resize(counts.events.size());
  for (auto& [element, of_thread] : sums) {
    of_thread.resize(counts.events.size());
    for (size_t i = 0; i < of_thread.size(); ++i) counts.totals[i] += of_thread[i];
    counts.threads.push_back(RowOf(*meta, element));
    counts.threads.back().counts = std::move(of_thread);
  }
  std::ranges::stable_sort(counts.threads, std::ranges::greater(), &ThreadCountRow::counts);
  return counts;
}

Json CountedEventsJson(const ThreadCounts& counts) {
  Json events = Json::array();
  for (size_t i = 0; i < counts.events.size(); ++i)
    events.push_back({{"event", counts.events[i]},
                      {"unit", counter::UnitOf(counts.events[i])},
                      {"count", counts.totals[i]},
                      {"scaled", static_cast<bool>(counts.is_scaled[i])}});
  return events;
}

Json ThreadCountsJson(const ThreadCounts& counts) {
  if (counts.events.empty()) return nullptr;
  const auto thread = [](const ThreadCountRow& row) -> Json {
    return {{"pid", Known(row.pid)}, {"tid", Known(row.tid)}, {"thread", row.name}, {"counts", row.counts}};
  };
  return {{"events", CountedEventsJson(counts)}, {"threads", JsonRows(counts.threads, thread)}};
}

}  // namespace attune::analysis
