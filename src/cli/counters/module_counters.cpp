#include "cli/counters/module_counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "counter/event.h"

namespace attune::cli {

std::vector<std::string> LackingCounters(const modules::ModuleHello& module) {
  const HostRoot host;
  const std::vector<counter::Pmu> pmus = counter::FindPmus(host, CpuSet::In(host, "/sys/devices/system/cpu/online"));
  std::vector<std::string> lacking;
  for (const std::string& names : module.counters) {
    const std::vector<std::string_view> candidates = Split(names, "|");
    const auto is_here = [&](std::string_view name) { return counter::ParseEvents(host, pmus, name).ok(); };
    if (std::ranges::any_of(candidates, is_here)) continue;
    const Error why = counter::ParseEvents(host, pmus, candidates.front()).error();
    lacking.push_back(fmt::format("{}: {}", names, why.message));
  }
  return lacking;
}

}  // namespace attune::cli
