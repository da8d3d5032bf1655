#include "sensor/node/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "sensor/catalog.h"
#include "sensor/text/scan.h"

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

size_t StripLinePrefix(std::span<char> text, std::string_view prefix) {
  char* to = text.data();
  std::string_view rest(text.data(), text.size());
  while (!rest.empty()) {
    const size_t newline = std::min(rest.find('\n'), rest.size() - 1);
    std::string_view line = rest.substr(0, newline + 1);
    rest.remove_prefix(newline + 1);
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
    std::memmove(to, line.data(), line.size());
    to += line.size();
  }
  return static_cast<size_t>(to - text.data());
}

const model::SensorInfo& NodeSensor::Info() const { return FindSensor("node")->info; }

void NodeSensor::PrepareNumastat(const HostRoot& host, Node& node, std::vector<model::SignalSpec>& specs) {
  const std::string path = node.folder + "/numastat";
  const auto text = host.ReadFile(path);
  auto file = host.Open(path);
  if (!text.ok() || !file.ok() || !node.numastat_text.Learn(*text).ok()) return;
  node.numastat = *std::move(file);
  buffer_.resize(std::max(buffer_.size(), node.numastat_text.Capacity()));
  for (const std::string& key : node.numastat_text.Keys())
    specs.push_back(*MakeSpec(*FindSensor("node"), key, node.element));  // "*" fits all
}

void NodeSensor::PrepareVmstat(const HostRoot& host, Node& node, std::vector<model::SignalSpec>& specs) {
  const std::string path = node.folder + "/vmstat";
  const auto text = host.ReadFile(path);
  auto file = host.Open(path);
  if (!text.ok() || !file.ok() || !node.vmstat_text.Learn(*text).ok()) return;
  node.vmstat = *std::move(file);
  const std::vector<std::string>& keys = node.vmstat_text.Keys();
  buffer_.resize(std::max(buffer_.size(), node.vmstat_text.Capacity()));
  values_.resize(std::max(values_.size(), keys.size()));
  for (size_t i = 0; i < keys.size(); ++i) {
    if (node.numastat && IsInNumastat(keys[i])) continue;
    node.vmstat_columns.push_back(i);
    specs.push_back(*MakeSpec(*FindSensor("vmstat"), keys[i]));
    specs.back().element = node.element;
  }
}

void NodeSensor::PrepareMeminfo(const HostRoot& host, Node& node, std::vector<model::SignalSpec>& specs) {
  const std::string path = node.folder + "/meminfo";
  auto text = host.ReadFile(path);
  auto file = host.Open(path);
  if (!text.ok() || !file.ok()) return;
  // Room for the text as it comes: with the prefixes.
  buffer_.resize(std::max(buffer_.size(), 2 * text->size() + (16u << 10)));
  text->resize(StripLinePrefix(*text, node.prefix));
  auto found = node.meminfo_text.Learn(*text);
  if (!found.ok()) return;
  node.meminfo = *std::move(file);
  node.meminfo_keys = found->size();
  for (model::SignalSpec& spec : *found) {
    spec.element = node.element;
    specs.push_back(std::move(spec));
  }
}

Result<std::vector<model::SignalSpec>> NodeSensor::Prepare(const HostRoot& host) {
  auto names = host.List(kFolder);
  if (!names.ok())
    return Error{Errc::kUnavailable, names.error().message, "the kernel was built without NUMA, or /sys is hidden"};
  std::vector<int64_t> ids;
  for (const std::string& name : *names) {
    if (const int64_t id = NodeNumber(name); id >= 0) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  nodes_.clear();
  std::vector<model::SignalSpec> specs;
  for (const int64_t id : ids) {
    Node node;
    node.element = {model::ElementKind::kNode, id, fmt::format("node{}", id)};
    node.folder = fmt::format("{}/node{}", kFolder, id);
    node.prefix = fmt::format("Node {} ", id);
    PrepareNumastat(host, node, specs);
    PrepareVmstat(host, node, specs);
    PrepareMeminfo(host, node, specs);
    nodes_.push_back(std::move(node));
  }
  if (specs.empty()) return Error{Errc::kUnavailable, fmt::format("{}: no node has counters", kFolder), ""};
  return specs;
}

std::span<char> NodeSensor::Read(const UniqueFd& file) {
  const long size = PreadAll(file.get(), buffer_.data(), buffer_.size());
  return {buffer_.data(), static_cast<size_t>(std::max(size, 0L))};
}

bool NodeSensor::Sample(std::span<int64_t> out) {
  bool any = false;
  const auto take = [&](size_t count) {
    const std::span<int64_t> values = out.first(count);
    out = out.subspan(count);
    return values;
  };
  for (Node& node : nodes_) {
    if (node.numastat) {
      const std::span<char> text = Read(node.numastat);
      node.numastat_text.Parse({text.data(), text.size()}, take(node.numastat_text.Keys().size()));
      any = any || !text.empty();
    }
    if (node.vmstat) {
      const std::span<char> text = Read(node.vmstat);
      node.vmstat_text.Parse({text.data(), text.size()}, values_);
      const std::span<int64_t> values = take(node.vmstat_columns.size());
      for (size_t i = 0; i < values.size(); ++i) values[i] = values_[node.vmstat_columns[i]];
      any = any || !text.empty();
    }
    if (node.meminfo) {
      const std::span<char> text = Read(node.meminfo);
      const size_t size = StripLinePrefix(text, node.prefix);
      node.meminfo_text.Parse({text.data(), size}, take(node.meminfo_keys));
      any = any || !text.empty();
    }
  }
  return any;
}

}  // namespace attune::sensor
