#include "counter/libpfm_names.h"

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

#include <cstdlib>

namespace attune::counter {
namespace {

/// @param all also the codes of models that this machine is not
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

/// The number that a model's counters take for an event; 0: it has none by itself.
uint64_t RawCode(const std::string& name) {
  pfm_pmu_encode_arg_t argument{};
  argument.size = sizeof argument;
  const bool is_known = pfm_get_os_event_encoding(name.c_str(), PFM_PLM3, PFM_OS_NONE, &argument) == PFM_SUCCESS;
  const uint64_t code = is_known && argument.count > 0 ? argument.codes[0] : 0;
  free(argument.codes);
  return code;
}

}  // namespace

std::optional<perf_event_attr> FindLibpfmEvent(const std::string& name) {
  if (!IsReady(false)) return std::nullopt;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  pfm_perf_encode_arg_t argument{};
  argument.size = sizeof argument;
  argument.attr = &attributes;
  if (pfm_get_os_event_encoding(name.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument) != PFM_SUCCESS)
    return std::nullopt;
  return attributes;
}

std::vector<LibpfmModel> LibpfmModels() {
  std::vector<LibpfmModel> models;
  if (!IsReady(false)) return models;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    const auto info = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (info) models.push_back({Text(info->name), Text(info->desc), info->is_present != 0, info->nevents});
  }
  return models;
}

std::vector<LibpfmEvent> LibpfmEvents(const std::string& model) {
  std::vector<LibpfmEvent> events;
  if (!IsReady(true)) return events;
  for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; ++i) {
    const auto of_model = ModelInfo(static_cast<pfm_pmu_t>(i));
    if (!of_model || model != of_model->name) continue;
    for (int index = of_model->first_event; index >= 0; index = pfm_get_event_next(index)) {
      pfm_event_info_t event{};
      event.size = sizeof event;
      if (pfm_get_event_info(index, PFM_OS_NONE, &event) != PFM_SUCCESS) continue;
      const std::string name = Text(event.name);
      const size_t with_parts = events.size();
      for (int attribute = 0; attribute < event.nattrs; ++attribute) {
        pfm_event_attr_info_t info{};
        info.size = sizeof info;
        const bool is_known = pfm_get_event_attr_info(index, attribute, PFM_OS_NONE, &info) == PFM_SUCCESS;
        if (!is_known || info.type != PFM_ATTR_UMASK) continue;
        const std::string part = name + ":" + Text(info.name);
        events.push_back({part, Text(info.desc), RawCode(model + "::" + part)});
      }
      if (events.size() == with_parts) events.push_back({name, Text(event.desc), RawCode(model + "::" + name)});
    }
  }
  return events;
}

}  // namespace attune::counter
