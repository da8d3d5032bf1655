#include "machine/measured_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace attune::machine {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void Put(Json& json, const char* key, const std::optional<T>& value) {
  if (value) json[key] = *value;
}
void Put(Json& json, const char* key, const std::string& text) {
  if (!text.empty()) json[key] = text;
}

/// To a hundredth: no clock here is finer.
double Rounded(double ns) { return std::round(ns * 100) / 100; }

std::optional<double> Rounded(const std::optional<double>& ns) {
  if (!ns) return {};
  return Rounded(*ns);
}

void PutSpread(Json& json, const Spread& spread) {
  json["median_ns"] = Rounded(spread.median_ns);
  json["p5_ns"] = Rounded(spread.low_ns);
  json["p95_ns"] = Rounded(spread.high_ns);
}

Json AgreementJson(const Agreement& agreement) {
  Json json{{"pairs", agreement.pairs},
            {"readings", agreement.readings},
            {"violations", agreement.violations},
            {"largest_step_back_ns", Rounded(agreement.largest_step_back_ns)}};
  Put(json, "offset_ns", Rounded(agreement.offset_ns));
  Put(json, "offset_error_ns", Rounded(agreement.offset_error_ns));
  return json;
}

Json ClockJson(const Clock& clock) {
  Json json{{"name", clock.name}};
  if (!clock.unavailable.empty()) {
    json["unavailable"] = clock.unavailable;
    return json;
  }
  json["read"] = Json::object();
  PutSpread(json["read"], clock.read_ns);
  Put(json, "claimed_step_ns", clock.claimed_step_ns);
  Put(json, "observed_step_ns", Rounded(clock.observed_step_ns));
  if (clock.agreement) json["agreement"] = AgreementJson(*clock.agreement);
  Put(json, "no_agreement", clock.no_agreement);
  json["pairs"] = Json::array();
  for (const PairCost& pair : clock.pairs) {
    json["pairs"].push_back({{"iterations", pair.iterations},
                             {"measured_ns", Rounded(pair.measured_ns)},
                             {"execution_ns", Rounded(pair.execution_ns)},
                             {"difference_ns", Rounded(pair.execution_ns - pair.measured_ns)}});
  }
  return json;
}

/// Flags that all CPUs have.
std::vector<std::string> CommonFlags(const std::vector<CpuInfo>& cpus) {
  std::vector<std::string> common;
  for (size_t i = 0; i < cpus.size(); ++i) {
    std::vector<std::string> flags = cpus[i].flags;
    std::sort(flags.begin(), flags.end());
    if (i == 0) {
      common = std::move(flags);
      continue;
    }
    std::vector<std::string> both;
    std::set_intersection(common.begin(), common.end(), flags.begin(), flags.end(), std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

Json CpuJson(const CpuInfo& cpu, const std::vector<std::string>& common) {
  Json json{{"cpu", cpu.cpu}};
  Put(json, "package_id", cpu.package_id);
  Put(json, "core_id", cpu.core_id);
  Put(json, "vendor", cpu.vendor);
  Put(json, "model", cpu.model);
  Put(json, "family", cpu.family);
  Put(json, "model_number", cpu.model_number);
  Put(json, "stepping", cpu.stepping);
  Put(json, "microcode", cpu.microcode);
  Put(json, "mhz", cpu.mhz);
  Put(json, "min_mhz", cpu.min_mhz);
  Put(json, "max_mhz", cpu.max_mhz);
  Put(json, "bogomips", cpu.bogomips);
  Put(json, "governor", cpu.governor);
  Put(json, "frequency_driver", cpu.frequency_driver);
  Json more = Json::array();
  for (const std::string& flag : cpu.flags) {
    if (!std::binary_search(common.begin(), common.end(), flag)) more.push_back(flag);
  }
  if (!more.empty()) json["more_flags"] = std::move(more);
  return json;
}

}  // namespace

Json ToJson(const Latencies& latencies) {
  Json json{{"cpus", latencies.cpus}, {"pairs", Json::array()}, {"shared", Json::array()}};
  for (const CpuLatency& pair : latencies.pairs) {
    Json row{{"from", pair.from}, {"to", pair.to}, {"shares", pair.shares}};
    if (pair.ns) PutSpread(row, *pair.ns);
    json["pairs"].push_back(std::move(row));
  }
  for (const SharedLatency& shared : latencies.shared) {
    Json row{{"shares", shared.shares}, {"pairs", shared.pairs}};
    PutSpread(row, shared.ns);
    json["shared"].push_back(std::move(row));
  }
  json["nodes"] = Json::array();
  for (const NodeLatency& node : latencies.nodes) {
    Json row{{"cpu_node", node.cpu_node}, {"memory_node", node.memory_node}};
    Put(row, "relative", node.relative);
    if (node.ns) PutSpread(row, *node.ns);
    json["nodes"].push_back(std::move(row));
  }
  json["notes"] = latencies.notes;
  return json;
}

Json ToJson(const Clocks& clocks) {
  Json json = Json::object();
  Put(json, "tsc_hz", clocks.tsc_hz ? std::optional(std::round(*clocks.tsc_hz)) : std::nullopt);
  json["clocks"] = Json::array();
  for (const Clock& clock : clocks.clocks) json["clocks"].push_back(ClockJson(clock));
  json["notes"] = clocks.notes;
  return json;
}

Json ToJson(const Capabilities& all) {
  const std::vector<std::string> common = CommonFlags(all.cpus);
  Json json{{"cpus", Json::array()}, {"flags", common}};
  for (const CpuInfo& cpu : all.cpus) json["cpus"].push_back(CpuJson(cpu, common));
  Put(json, "memory_bytes", all.memory_bytes);
  Put(json, "memory_available_bytes", all.memory_available_bytes);
  Put(json, "swap_bytes", all.swap_bytes);
  Put(json, "swap_free_bytes", all.swap_free_bytes);
  Put(json, "page_bytes", all.page_bytes);
  json["huge_pages"] = Json::array();
  for (const HugePages& pages : all.huge_pages)
    json["huge_pages"].push_back({{"page_bytes", pages.page_bytes}, {"total", pages.total}, {"free", pages.free}});
  Put(json, "transparent_huge_pages", all.transparent_huge_pages);
  Put(json, "hypervisor", all.hypervisor);
  Put(json, "isolated_cpus", all.isolated.ToString());
  Put(json, "nohz_full_cpus", all.nohz_full.ToString());
  Put(json, "smt_active", all.smt_active);
  if (!all.vulnerabilities.empty()) json["vulnerabilities"] = all.vulnerabilities;
  Json cgroup = Json::object();
  Put(cgroup, "path", all.cgroup.path);
  Put(cgroup, "cpus", all.cgroup.cpus);
  Put(cgroup, "cpuset", all.cgroup.cpuset);
  Put(cgroup, "memory_bytes", all.cgroup.memory_bytes);
  if (!cgroup.empty()) json["cgroup"] = std::move(cgroup);
  return json;
}

}  // namespace attune::machine
