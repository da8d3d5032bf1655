#include "sensor/resctrl/resctrl.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace attune::sensor {
namespace {

constexpr std::string_view kFolder = "/sys/fs/resctrl";
constexpr std::string_view kDomain = "mon_L3_";
constexpr std::array<std::string_view, 3> kSignals{"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"};
// Folders beside the groups in resctrl's folder. Files need no entry: they have no mon_data.
constexpr std::array<std::string_view, 3> kNoGroups{"info", "mon_data", "mon_groups"};

/// The 1 of "mon_L3_01"; kAbsent where there is no number.
int64_t CacheId(std::string_view domain) {
  int64_t id = model::kAbsent;
  std::from_chars(domain.data() + kDomain.size(), domain.data() + domain.size(), id);
  return id;
}

}  // namespace

void ResctrlSensor::AddGroup(const HostRoot& host, const std::string& group, std::vector<model::SignalSpec>& specs) {
  const std::string folder = fmt::format("{}{}{}/mon_data", kFolder, group.empty() ? "" : "/", group);
  for (const std::string& domain : host.List(folder).value_or({})) {
    if (!domain.starts_with(kDomain)) continue;
    const model::ElementKey element{model::ElementKind::kDevice, CacheId(domain),
                                    group.empty() ? domain : group + "/" + domain};
    for (const std::string_view signal : kSignals) {
      auto file = NumberFile::Open(host, fmt::format("{}/{}/{}", folder, domain, signal));
      if (!file.ok()) continue;  // this CPU does not count it
      files_.push_back(*std::move(file));
      specs.push_back(Spec(signal, element));
    }
  }
}

Result<std::vector<model::SignalSpec>> ResctrlSensor::Prepare(const HostRoot& host) {
  files_.clear();
  if (!host.Exists(fmt::format("{}/info", kFolder))) {
    return Error{
        Errc::kUnavailable, fmt::format("{}: resctrl is not mounted", kFolder),
        "sudo mount -t resctrl resctrl /sys/fs/resctrl (the CPU must have cqm_llc or cqm_mbm in /proc/cpuinfo)"};
  }
  std::vector<std::string> groups{""};
  for (const std::string& name : host.List(kFolder).value_or({})) {
    if (std::find(kNoGroups.begin(), kNoGroups.end(), name) == kNoGroups.end()) groups.push_back(name);
  }
  std::vector<model::SignalSpec> specs;
  for (const std::string& group : groups) {
    AddGroup(host, group, specs);
    const std::string inner = group.empty() ? "mon_groups" : group + "/mon_groups";
    for (const std::string& name : host.List(fmt::format("{}/{}", kFolder, inner)).value_or({}))
      AddGroup(host, inner + "/" + name, specs);
  }
  if (specs.empty()) {
    return Error{Errc::kUnavailable, fmt::format("{}: the CPU allots caches but does not monitor them", kFolder), ""};
  }
  return specs;
}

bool ResctrlSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (size_t i = 0; i < files_.size(); ++i) {
    out[i] = files_[i].Read();
    any = any || out[i] != model::kAbsent;
  }
  return any;
}

}  // namespace attune::sensor
