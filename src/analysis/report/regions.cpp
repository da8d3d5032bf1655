#include "analysis/report/regions.h"

#include <algorithm>

#include "analysis/documents/json_rows.h"
#include "counter/event_group.h"

namespace attune::analysis {
namespace {

std::vector<counter::NamedEvent> EventsOf(const std::vector<RegionSummary>& regions) {
  std::vector<counter::NamedEvent> events;
  for (const RegionSummary& region : regions) {
    for (const RegionCount& count : region.counts) {
      if (std::ranges::find(events, count.event, &counter::NamedEvent::name) == events.end())
        events.push_back({.name = count.event});
    }
  }
  return events;
}

}  // namespace

void AddMetrics(std::vector<RegionSummary>& regions) {
  const std::vector<counter::NamedEvent> events = EventsOf(regions);
  if (events.empty()) return;
  const auto groups = counter::AllGroups();
  if (!groups.ok()) return;
  counter::GroupMetrics metrics;
  for (const counter::EventGroup& group : *groups) metrics.AddRecorded(group, events);
  const std::vector<counter::NamedEvent> columns = metrics.Columns();
  for (RegionSummary& region : regions) {
    std::vector<counter::EventCount> values(events.size());
    for (size_t i = 0; i < events.size(); ++i) {
      const auto count = std::ranges::find(region.counts, events[i].name, &RegionCount::event);
      if (count != region.counts.end()) values[i] = {.value = count->total, .is_known = true};
    }
    metrics.Complete(values, static_cast<double>(region.total_ns) * 1e-9);
    region.metrics.clear();
    for (size_t i = 0; i < columns.size(); ++i) {
      const counter::EventCount& value = values[events.size() + i];
      // One metric may be in several groups.
      const bool is_new =
          std::ranges::find(region.metrics, columns[i].name, &RegionMetric::name) == region.metrics.end();
      if (value.is_known && is_new) region.metrics.push_back({columns[i].name, columns[i].unit, value.value});
    }
  }
}

Json RegionJson(const RegionSummary& region) {
  return {{"name", region.name},
          {"processes", region.processes},
          {"threads", region.threads},
          {"count", region.count},
          {"total_ns", region.total_ns},
          {"self_ns", region.self_ns},
          {"mean_ns", region.mean_ns},
          {"p50_ns", region.p50_ns},
          {"p99_ns", region.p99_ns},
          {"max_ns", region.max_ns},
          {"begins_without_end", region.begins_without_end},
          {"ends_without_begin", region.ends_without_begin},
          {"counts", JsonRows(region.counts,
                              [](const RegionCount& count) {
                                return Json{{"event", count.event},
                                            {"unit", counter::UnitOf(count.event)},
                                            {"total", count.total}};
                              })},
          {"metrics", JsonRows(region.metrics, [](const RegionMetric& metric) {
             return Json{{"metric", metric.name}, {"unit", metric.unit}, {"value", metric.value}};
           })}};
}

}  // namespace attune::analysis
