#include "counter/libpfm_names.h"

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "counter/event_text.h"

namespace attune::counter {
namespace {

/// @param all also the codes of models that this machine is not, by names with the model; the library keeps it so
bool IsReady(bool all) {
  static bool has_all = false, ready = false;
  if (ready && (has_all || !all)) return true;
  if (ready) pfm_terminate();
  has_all = all;
  if (all) setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
  ready = pfm_initialize() == PFM_SUCCESS;
  return ready;
}

std::optional<pfm_pmu_info_t> ModelInfo(pfm_pmu_t model) {
  pfm_pmu_info_t info{};
  info.size = sizeof info;
  if (pfm_get_pmu_info(model, &info) != PFM_SUCCESS) return std::nullopt;
  return info;
}

std::string Text(const char* text) { return text != nullptr ? text : ""; }

/// "skl::INST_RETIRED:ANY_P" where this machine is none.
bool IsOfOtherModel(std::string_view name) {
  const size_t colons = name.find("::");
  if (colons == std::string_view::npos) return false;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    const auto info = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (info && name.substr(0, colons) == info->name) return info->is_present == 0;
  }
  return false;
}

/// The numbers that a model's counters take for an event; 0: it has none by itself.
void AddCodes(const std::string& name, LibpfmEvent& event) {
  pfm_pmu_encode_arg_t argument{};
  argument.size = sizeof argument;
  const bool is_known = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_NONE, &argument) == PFM_SUCCESS;
  if (is_known && argument.count > 0) event.code = argument.codes[0];
  if (is_known && argument.count > 1) event.code1 = argument.codes[1];
  free(argument.codes);
}

/// The events of a model, each with each of its parts, without codes.
std::vector<LibpfmEvent> EventsOf(const pfm_pmu_info_t& model) {
  std::vector<LibpfmEvent> events;
  for (int index = model.first_event; index >= 0; index = pfm_get_event_next(index)) {
    pfm_event_info_t event{};
    event.size = sizeof event;
    if (pfm_get_event_info(index, PFM_OS_NONE, &event) != PFM_SUCCESS) continue;
    const std::string name = Text(event.name);
    const size_t with_parts = events.size();
    for (int attribute = 0; attribute < event.nattrs; ++attribute) {
      pfm_event_attr_info_t info{};
      info.size = sizeof info;
      const bool is_known = pfm_get_event_attr_info(index, attribute, PFM_OS_NONE, &info) == PFM_SUCCESS;
      if (is_known && info.type == PFM_ATTR_UMASK)
        events.push_back({name + ":" + Text(info.name), Text(info.desc), 0, std::nullopt});
    }
    if (events.size() == with_parts) events.push_back({name, Text(event.desc), 0, std::nullopt});
  }
  return events;
}

/// Whether an event has all of these: parts and modifiers, as in "ANY_P:c=1".
bool HasAttributes(int index, const pfm_event_info_t& event, std::string_view wanted) {
  while (!wanted.empty()) {
    const std::string_view one = wanted.substr(0, wanted.find(':'));
    wanted.remove_prefix(std::min(wanted.size(), one.size() + 1));
    bool is_there = false;
    for (int attribute = 0; attribute < event.nattrs && !is_there; ++attribute) {
      pfm_event_attr_info_t info{};
      info.size = sizeof info;
      is_there = pfm_get_event_attr_info(index, attribute, PFM_OS_NONE, &info) == PFM_SUCCESS &&
                 IsSameName(one.substr(0, one.find('=')), Text(info.name));
    }
    if (!is_there) return false;
  }
  return true;
}

/// @param name "INST_RETIRED:ANY_P", without the model
bool HasEvent(const pfm_pmu_info_t& model, std::string_view name) {
  const std::string_view wanted = name.substr(0, name.find(':'));
  for (int index = model.first_event; index >= 0; index = pfm_get_event_next(index)) {
    pfm_event_info_t event{};
    event.size = sizeof event;
    if (pfm_get_event_info(index, PFM_OS_NONE, &event) != PFM_SUCCESS || !IsSameName(Text(event.name), wanted))
      continue;
    return HasAttributes(index, event, name.substr(std::min(name.size(), wanted.size() + 1)));
  }
  return false;
}

}  // namespace

std::optional<perf_event_attr> FindLibpfmEvent(const std::string& name) {
  if (!IsReady(false) || IsOfOtherModel(name)) return std::nullopt;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  pfm_perf_encode_arg_t argument{};
  argument.size = sizeof argument;
  argument.attr = &attributes;
  if (pfm_get_os_event_encoding(name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument) != PFM_SUCCESS)
    return std::nullopt;
  pfm_event_info_t info{};
  info.size = sizeof info;
  const bool is_kernels =
      pfm_get_event_info(argument.idx, PFM_OS_NONE, &info) == PFM_SUCCESS && info.pmu == PFM_PMU_PERF_EVENT;
  const bool has_code_of_its_own = attributes.type == PERF_TYPE_TRACEPOINT || attributes.type > PERF_TYPE_HW_CACHE;
  if (is_kernels && has_code_of_its_own) return std::nullopt;  // a tracepoint of this machine, whatever the host root
  return attributes;
}

std::string LibpfmModelsWith(const std::string& name) {
  constexpr size_t kMost = 3;
  std::string models;
  size_t count = 0;
  if (!IsReady(false)) return models;
  const size_t colons = name.find("::");
  const std::string model = colons == std::string::npos ? "" : name.substr(0, colons);
  const std::string bare = colons == std::string::npos ? name : name.substr(colons + 2);
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX && count <= kMost; ++i) {
    const auto info = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (!info || info->type == PFM_PMU_TYPE_OS_GENERIC) continue;  // the kernel's own are no other machine's
    if ((!model.empty() && model != info->name) || !HasEvent(*info, bare)) continue;
    if (count < kMost) models.append(models.empty() ? "" : ", ").append(info->name);
    ++count;
  }
  return count > kMost ? models + ", ..." : models;
}

std::vector<LibpfmModel> LibpfmModels() {
  std::vector<LibpfmModel> models;
  if (!IsReady(false)) return models;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    const auto info = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (info)
      models.push_back({.name = Text(info->name),
                        .description = Text(info->desc),
                        .is_here = info->is_present != 0,
                        .is_core = info->type == PFM_PMU_TYPE_CORE,
                        .events = info->nevents});
  }
  return models;
}

std::vector<LibpfmEvent> LibpfmEvents(const std::string& model) {
  std::vector<LibpfmEvent> events;
  if (!IsReady(true)) return events;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    const auto info = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (!info || model != info->name) continue;
    for (LibpfmEvent& event : EventsOf(*info)) {
      AddCodes(model + "::" + event.name, event);
      events.push_back(std::move(event));
    }
  }
  return events;
}

std::vector<std::string> LibpfmNamesHere() {
  std::vector<std::string> names;
  if (!IsReady(false)) return names;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    const auto info = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (!info || info->is_present == 0 || info->type == PFM_PMU_TYPE_OS_GENERIC) continue;
    for (LibpfmEvent& event : EventsOf(*info)) names.push_back(std::move(event.name));
  }
  return names;
}

}  // namespace attune::counter
