#include "sensor/node/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attune::sensor {
namespace {

constexpr std::string_view kFolder = "/sys/devices/system/node";

/// The vmstat of a node counts again, under other names, what numastat counts.
bool IsInNumastat(std::string_view vmstat_key) { return vmstat_key.starts_with("numa_"); }

/// The N of "nodeN"; -1 for every other name.
int64_t NodeNumber(std::string_view name) {
  if (!name.starts_with("node")) return -1;
  int64_t id = -1;
  const auto [rest, error] = std::from_chars(name.data() + 4, name.data() + name.size(), id);
  return error == std::errc() && rest == name.data() + name.size() ? id : -1;
}

}  // namespace

Result<std::vector<model::SignalSpec>> NodeSensor::Prepare(const HostRoot& host) {
  auto names = host.List(kFolder);
  if (!names.ok())
    return Error{Errc::kUnavailable, names.error().message, "the kernel was built without NUMA, or /sys is hidden"};
  std::vector<int64_t> ids;
  for (const std::string& name : *names) {
    if (const int64_t id = NodeNumber(name); id >= 0) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  files_.clear();
  std::vector<model::SignalSpec> specs;
  for (const int64_t id : ids) {
    const model::ElementKey node{model::ElementKind::kNode, id, fmt::format("node{}", id)};
    const auto add = [&](std::string_view name, std::string_view sensor, std::string prefix = "",
                         const std::function<bool(std::string_view)>& is_wanted = {}) {
      KeyValueFile file(std::move(prefix));
      auto found = file.Open(host, fmt::format("{}/{}/{}", kFolder, node.name, name), sensor, node, is_wanted);
      if (!found.ok()) return false;
      specs.insert(specs.end(), found->begin(), found->end());
      files_.push_back(std::move(file));
      return true;
    };
    const bool has_numastat = add("numastat", "node");
    add("vmstat", "vmstat", "", [&](std::string_view key) { return !has_numastat || !IsInNumastat(key); });
    add("meminfo", "memory", fmt::format("Node {} ", id));
  }
  if (specs.empty()) return Error{Errc::kUnavailable, fmt::format("{}: no node has counters", kFolder), ""};
  return specs;
}

bool NodeSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  for (KeyValueFile& file : files_) {
    any = file.Sample(out.first(file.Columns())) || any;
    out = out.subspan(file.Columns());
  }
  return any;
}

}  // namespace attune::sensor
