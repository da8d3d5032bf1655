#include "cli/counters/event_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "counter/event.h"
#include "counter/libpfm_names.h"
#include "counter/vendor_events.h"

namespace attune::cli {
namespace {

constexpr std::string_view kModels = "models";

std::vector<EventRow> ModelRows() {
  std::vector<EventRow> rows;
  for (const counter::LibpfmModel& model : counter::LibpfmModels())
    rows.push_back({model.name, model.is_here ? "here" : "", std::to_string(model.events), model.description});
  return rows;
}

Result<std::vector<EventRow>> VendorRows(const std::string& file) {
  ATTUNE_TRY(const std::vector<counter::VendorEvent> events, counter::ReadVendorEvents(file));
  std::vector<EventRow> rows;
  for (const counter::VendorEvent& event : events) {
    const bool can_be = event.lacking.empty();
    rows.push_back({event.name, event.unit.empty() ? "cpu" : event.unit, can_be ? event.terms : "",
                    can_be ? event.description : "not to be counted: the kernel has no term for its " + event.lacking});
  }
  return rows;
}

}  // namespace

Result<std::vector<EventRow>> EventRows(const std::string& where) {
  if (where == kModels) return ModelRows();
  const HostRoot host;
  const std::vector<counter::Pmu> pmus = counter::FindPmus(host, CpuSet::In(host, "/sys/devices/system/cpu/online"));
  std::vector<EventRow> rows;
  for (const counter::ListedEvent& event : counter::ListEvents(host, pmus)) {
    if (where.empty() || event.kind == where) rows.push_back({event.name, event.kind, event.code, ""});
  }
  if (where.empty() || !rows.empty()) return rows;
  for (const PluginFile& file : counter::VendorEventFiles()) {
    if (file.name == where) return VendorRows(file.file);
  }
  if (where.ends_with(".json")) return VendorRows(where);
  for (const counter::LibpfmEvent& event : counter::LibpfmEvents(where))
    rows.push_back({event.name, where, fmt::format("{:#x}", event.code), event.description});
  if (!rows.empty()) return rows;
  std::vector<std::string> names{std::string(kModels), "software"};
  for (const counter::Pmu& pmu : pmus) names.push_back(pmu.device);
  for (const counter::LibpfmModel& model : counter::LibpfmModels()) names.push_back(model.name);
  for (const PluginFile& file : counter::VendorEventFiles()) names.push_back(file.name);
  const std::string near = DidYouMean(where, names);
  return Error{
      Errc::kNotFound,
      fmt::format("'{}' is neither a unit of this machine, nor a model that libpfm4 knows, nor a file of events",
                  where),
      near.empty() ? "attune list events models" : near};
}

}  // namespace attune::cli
