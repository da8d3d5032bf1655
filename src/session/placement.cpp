#include "session/placement.h"

#include <charconv>
#include <map>
#include <string>

namespace attune::session {
namespace {

constexpr std::string_view kNodes = "/sys/devices/system/node";

/// The number of "node12"; -1: no such folder.
int NodeOf(std::string_view name) {
  constexpr std::string_view kPrefix = "node";
  int id = -1;
  if (!name.starts_with(kPrefix)) return -1;
  const auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), id);
  return error == std::errc() && end == name.data() + name.size() ? id : -1;
}

}  // namespace

CpuSet DefaultPlace(const HostRoot& host, const CpuSet& allowed) {
  const auto names = host.List(kNodes);
  if (!names.ok()) return {};
  std::map<int, CpuSet> nodes;  // those with CPUs: memory may be a node of its own
  for (const std::string& name : *names) {
    const int id = NodeOf(name);
    const auto text =
        id < 0 ? Result<std::string>(Error{}) : host.ReadFile(std::string(kNodes) + "/" + name + "/cpulist");
    const auto cpus = text.ok() ? CpuSet::Parse(*text) : Result<CpuSet>(text.error());
    if (cpus.ok() && !cpus->empty()) nodes[id] = *cpus;
  }
  if (nodes.size() < 2) return {};
  for (const auto& [id, cpus] : nodes) {
    const CpuSet usable = cpus.Common(allowed);
    if (!usable.empty()) return usable;
  }
  return {};
}

}  // namespace attune::session
