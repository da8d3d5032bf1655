#include <algorithm>

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/report/thread_counts.h"

namespace attune::analysis {
namespace {

/// Length of the part of the range that the source has data of.
int64_t LengthOf(const PageRequest& request) {
  const model::TimeRange extent = request.source.Extent();
  if (!request.range) return extent.t1_ns - extent.t0_ns;
  return std::max<int64_t>(0,
                           std::min(extent.t1_ns, request.range->t1_ns) - std::max(extent.t0_ns, request.range->t0_ns));
}

/// The rows from `first` on, summed; null: there are none.
Json SumFrom(const ThreadCounts& counts, size_t first) {
  if (counts.threads.size() <= first) return nullptr;
  std::vector<double> sums(counts.events.size());
  for (size_t row = first; row < counts.threads.size(); ++row) {
    for (size_t event = 0; event < sums.size(); ++event) sums[event] += counts.threads[row].counts[event];
  }
  return {{"threads", counts.threads.size() - first}, {"counts", sums}};
}

/// `counters`: events that were counted of each thread (--count). The kMaxPageObjects threads with most of the first
/// event; `rest` sums up the others. All of them by CPU and, where there are several, by kind of core. @cost as
/// SumThreadCounts
Result<std::string> Counters(const PageRequest& request) {
  ATTUNE_TRY(ThreadCounts counts, SumThreadCounts(request.source, request.range));
  Json rest = SumFrom(counts, kMaxPageObjects);
  const size_t all = CutRows(counts.threads, kMaxPageObjects);
  const auto thread = [](const ThreadCountRow& row) -> Json {
    return {
        {"element", row.element}, {"process_element", row.process}, {"pid", Known(row.pid)}, {"tid", Known(row.tid)},
        {"thread", row.name},     {"process", row.process_name},    {"counts", row.counts}};
  };
  Json json{{"time_ns", LengthOf(request)},
            {"events", CountedEventsJson(counts)},
            {"threads", JsonRows(counts.threads, thread)},
            {"threads_in_all", all},
            {"rest", std::move(rest)}};
  AddCpuCounts(counts, json);
  return JsonText(json);
}

}  // namespace

PageDocument MakeCountersDocument() { return {.name = "counters", .may_have_range = true, .make = Counters}; }

}  // namespace attune::analysis
