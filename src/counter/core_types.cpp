#include "counter/core_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "counter/pmu.h"

namespace attune::counter {
namespace {

uint32_t NumberIn(const HostRoot& host, const std::string& file) {
  const auto text = host.ReadFile(file);
  uint32_t number = 0;
  if (text.ok()) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

}  // namespace

CoreTypes::CoreTypes(const HostRoot& host) {
  online_ = CpuSet::In(host, "/sys/devices/system/cpu/online");
  const std::vector<Pmu> pmus = FindPmus(host, online_);
  /// Capacity and unit, by which kinds differ.
  using Kind = std::pair<uint32_t, std::string>;
  std::map<CpuId, Kind> kinds;
  uint32_t highest = 0;
  for (const CpuId cpu : online_) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
    uint32_t capacity = NumberIn(host, folder + "/cpu_capacity");
    if (capacity == 0) capacity = NumberIn(host, folder + "/acpi_cppc/highest_perf");
    const auto unit = std::ranges::find_if(
        pmus, [&](const Pmu& pmu) { return pmu.is_core && (pmu.cpus.empty() || pmu.cpus.Contains(cpu)); });
    kinds[cpu] = {capacity, unit == pmus.end() ? "" : unit->device};
    highest = std::max(highest, capacity);
  }
  // Cores of one unit whose firmware prefers some of them (by a few percent) are of one kind.
  std::map<std::string, uint32_t> of_unit;
  for (const auto& [cpu, kind] : kinds) of_unit[kind.second] = std::max(of_unit[kind.second], kind.first);
  const bool by_unit = of_unit.size() > 1;
  std::vector<Kind> found;
  for (auto& [cpu, kind] : kinds) {
    const bool is_near = kind.first * 10 >= of_unit[kind.second] * 8;
    if (by_unit || is_near) kind.first = of_unit[kind.second];
    if (std::ranges::find(found, kind) == found.end()) found.push_back(kind);
  }
  std::ranges::sort(found, std::greater());
  if (found.empty() || found.size() > 4) return;
  capacities_.clear();
  for (const Kind& kind : found)
    capacities_.push_back(highest == 0 || kind.first == 0 ? 1024 : kind.first * 1024 / highest);
  for (const auto& [cpu, kind] : kinds) {
    if (types_.size() <= static_cast<size_t>(cpu)) types_.resize(static_cast<size_t>(cpu) + 1);
    types_[static_cast<size_t>(cpu)] = static_cast<int>(std::ranges::find(found, kind) - found.begin());
  }
}

int CoreTypes::Of(int cpu) const {
  return cpu >= 0 && static_cast<size_t>(cpu) < types_.size() ? types_[static_cast<size_t>(cpu)] : 0;
}

std::string CoreTypes::CpusByType() const {
  std::string text;
  for (int type = 0; capacities_.size() > 1 && type < static_cast<int>(capacities_.size()); ++type) {
    std::vector<CpuId> cpus;
    for (const CpuId cpu : online_) {
      if (Of(cpu) == type) cpus.push_back(cpu);
    }
    text += (type == 0 ? "" : " ") + CpuSet(std::move(cpus)).ToString();
  }
  return text;
}

}  // namespace attune::counter
