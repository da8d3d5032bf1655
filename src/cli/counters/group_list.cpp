#include "cli/counters/group_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "counter/event_group.h"

namespace attune::cli {
namespace {

/// Why a metric cannot be had here; empty: it can.
std::string Lacking(const counter::GroupMetrics& metrics, const std::string& name) {
  const auto note = std::ranges::find(metrics.notes(), name, &counter::EventNote::event);
  return note == metrics.notes().end() ? "" : note->why;
}

GroupRow RowOf(const counter::EventGroup& group, const counter::GroupMetrics& metrics) {
  GroupRow row{.name = group.name, .metrics = "", .here = "yes", .about = group.about};
  for (const counter::GroupMetric& metric : group.metrics)
    row.metrics += (row.metrics.empty() ? "" : ", ") + metric.name;
  if (metrics.notes().empty()) return row;
  row.here = metrics.Columns().empty() ? "no: " + metrics.notes().front().why : "";
  for (size_t i = 0; i < metrics.notes().size() && !metrics.Columns().empty(); ++i)
    row.here += (row.here.empty() ? "not " : ", ") + metrics.notes()[i].event;
  return row;
}

}  // namespace

Result<std::vector<GroupRow>> GroupRows(const std::string& group) {
  ATTUNE_TRY(const std::vector<counter::EventGroup> groups, counter::AllGroups());
  const HostRoot host;
  const std::vector<counter::Pmu> pmus = counter::FindPmus(host, CpuSet::In(host, "/sys/devices/system/cpu/online"));
  std::vector<GroupRow> rows;
  const auto metrics_of = [&](const counter::EventGroup& of) {
    counter::GroupMetrics metrics;
    std::vector<counter::NamedEvent> events;
    metrics.Add(host, pmus, of, events);
    return metrics;
  };
  if (group.empty()) {
    for (const counter::EventGroup& each : groups) rows.push_back(RowOf(each, metrics_of(each)));
    return rows;
  }
  ATTUNE_TRY(const counter::EventGroup* const chosen, counter::FindGroup(groups, group));
  const counter::GroupMetrics metrics = metrics_of(*chosen);
  for (const counter::GroupMetric& metric : chosen->metrics) {
    const std::string why = Lacking(metrics, metric.name);
    rows.push_back({metric.name, metric.text + (metric.unit.empty() ? "" : fmt::format(" [{}]", metric.unit)),
                    why.empty() ? "yes" : "no: " + why, metric.about});
  }
  for (const counter::GroupEvent& event : chosen->events)
    rows.push_back({event.alias, fmt::format("{}", fmt::join(event.names, " or ")), "", "event"});
  return rows;
}

}  // namespace attune::cli
