#include "cli/counters/event_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/units.h"
#include "cli/counters/event_code.h"
#include "counter/bad_files.h"
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

void AddRows(std::vector<EventRow> more, std::vector<EventRow>& rows) {
  std::ranges::move(more, std::back_inserter(rows));
}

/// All that the cores of this machine can be asked to count by a number: names of the kernel, of libpfm4, of files.
std::vector<EventRow> CoreRows() {
  std::vector<EventRow> rows;
  const HostRoot host;
  for (const counter::Pmu& pmu : counter::FindCorePmus(host, CpuSet::In(host, "/sys/devices/system/cpu/online"))) {
    for (const auto& [name, code] : counter::NamedEvents(host, pmu))
      rows.push_back({fmt::format("{}/{}/", pmu.device, name), pmu.device, code, ""});
  }
  for (const counter::LibpfmModel& model : counter::LibpfmModels()) {
    if (!model.is_here || !model.is_core) continue;
    if (auto of_model = EventRows(model.name); of_model.ok()) AddRows(*std::move(of_model), rows);
  }
  for (const PluginFile& file : counter::VendorEventFiles()) {
    auto of_file = VendorRows(file.file);
    if (!of_file.ok()) {
      counter::AddBadFile(of_file.error());
      continue;
    }
    std::erase_if(*of_file, [](const EventRow& row) { return !row.kind.starts_with("cpu"); });
    AddRows(*std::move(of_file), rows);
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
  const std::vector<counter::LibpfmModel> models = counter::LibpfmModels();
  const auto model = std::ranges::find(models, where, &counter::LibpfmModel::name);
  const bool is_core = model != models.end() && model->is_core;
  for (const counter::LibpfmEvent& event : counter::LibpfmEvents(where))
    rows.push_back({event.name, where, CodeText(event.code, event.code1, is_core), event.description});
  if (!rows.empty()) return rows;
  std::vector<std::string> names{std::string(kModels), "software"};
  for (const counter::Pmu& pmu : pmus) names.push_back(pmu.device);
  for (const counter::LibpfmModel& one : models) names.push_back(one.name);
  for (const PluginFile& file : counter::VendorEventFiles()) names.push_back(file.name);
  const std::string near = DidYouMean(where, names);
  return Error{
      Errc::kNotFound,
      fmt::format("'{}' is neither a unit of this machine, nor a model that libpfm4 knows, nor a file of events",
                  where),
      near.empty() ? "attune list events models" : near};
}

bool IsEventCode(const std::string& text) { return !text.ends_with(".json") && ParseEventCode(text).has_value(); }

Result<std::vector<EventRow>> EventsWithCode(const std::string& code, const std::string& where) {
  const auto wanted = ParseEventCode(code);
  if (!wanted)
    return Error{Errc::kInvalidArgument, fmt::format("'{}' is no code of an event", code),
                 "as in r5101c4, 0x5101c4 or cpu/event=0xc4,umask=0x1/"};
  std::vector<EventRow> rows;
  if (where.empty()) {
    rows = CoreRows();
  } else {
    ATTUNE_TRY(rows, EventRows(where));
  }
  std::erase_if(rows, [&](const EventRow& row) {
    const auto has = ParseEventCode(row.code);
    return !has || !HasCode(*has, *wanted);
  });
  if (!rows.empty()) return rows;
  return Error{Errc::kNotFound,
               fmt::format("no event of {} has the code {}", where.empty() ? "this machine's cores" : where, code),
               where.empty() ? fmt::format("attune list events {} --pmu MODEL: attune list events models", code) : ""};
}

}  // namespace attune::cli
