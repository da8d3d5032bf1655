#include "sensor/frequency/frequency.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cpu_set.h"

namespace attune::sensor {
namespace {

constexpr std::string_view kFolder = "/sys/devices/system/cpu/cpufreq";

/// The CPUs of a policy, online or not. The file has them with blanks between: "0 1 2".
CpuSet RelatedCpus(const HostRoot& host, const std::string& folder) {
  std::string text = ReadWord(host, folder + "/related_cpus");
  std::replace(text.begin(), text.end(), ' ', ',');
  auto cpus = CpuSet::Parse(text);
  return cpus.ok() ? *std::move(cpus) : CpuSet();
}

}  // namespace

Result<std::vector<model::SignalSpec>> FrequencySensor::Prepare(const HostRoot& host) {
  policies_.clear();
  std::vector<model::SignalSpec> specs;
  for (const std::string& name : host.List(kFolder).value_or({})) {
    if (!name.starts_with("policy")) continue;
    const std::string folder = fmt::format("{}/{}", kFolder, name);
    const CpuSet cpus = RelatedCpus(host, folder);
    auto file = NumberFile::Open(host, folder + "/scaling_cur_freq");
    if (!file.ok() || cpus.empty()) continue;
    for (const CpuId cpu : cpus) {
      specs.push_back(Spec("current", {model::ElementKind::kCpu, cpu, fmt::format("cpu{}", cpu)}));
    }
    policies_.push_back({*std::move(file), cpus.size(), ReadNumber(host, folder + "/cpuinfo_max_freq"), cpus});
  }
  for (const Policy& policy : policies_) {
    if (policy.fastest_khz == model::kAbsent) continue;
    for (const CpuId cpu : policy.related) {
      specs.push_back(Spec("fastest", {model::ElementKind::kCpu, cpu, fmt::format("cpu{}", cpu)}));
    }
  }
  if (specs.empty()) {
    return Error{Errc::kUnavailable, fmt::format("{}: no driver for the CPUs' frequency is at work", kFolder),
                 "virtual machines have none; on hardware, load one (intel_pstate, amd_pstate, acpi_cpufreq)"};
  }
  return specs;
}

bool FrequencySensor::Sample(std::span<int64_t> out) {
  int64_t* at = out.data();
  bool any = false;
  for (const Policy& policy : policies_) {
    const int64_t khz = policy.current_khz.Read();
    any = any || khz != model::kAbsent;
    at = std::fill_n(at, policy.cpus, khz);
  }
  for (const Policy& policy : policies_) {
    if (policy.fastest_khz != model::kAbsent) at = std::fill_n(at, policy.cpus, policy.fastest_khz);
  }
  return any;
}

}  // namespace attune::sensor
