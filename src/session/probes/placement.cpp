#include "session/probes/placement.h"

#include <unistd.h>

#include <algorithm>

#include "base/root_helper.h"

namespace attune::session {

CpuSet DefaultPlace(const machine::Topology& topology, const CpuSet& allowed) {
  std::vector<const machine::Object*> nodes = machine::ObjectsOf(topology, model::ElementKind::kNode);
  std::erase_if(nodes, [](const machine::Object* node) { return node->cpus.empty(); });  // memory alone
  if (nodes.size() < 2) return {};
  std::sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) { return a->number < b->number; });
  for (const machine::Object* node : nodes) {
    if (CpuSet usable = node->cpus.Common(allowed); !usable.empty()) return usable;
  }
  return {};
}

Result<UniqueFd> KeepCpusAwake(const HostRoot& host) {
  constexpr char kPath[] = "/dev/cpu_dma_latency";
  constexpr int32_t kLongestWakeUpUs = 0;
  auto fd = host.OpenWritable(kPath);
  if (!fd.ok() && fd.error().code == Errc::kPermission && host.IsThisMachine()) {
    if (auto opened = AskRoot("cpu_dma_latency"); opened.ok()) fd = std::move(opened);
  }
  if (!fd.ok()) {
    return Error{fd.error().code, "the CPUs cannot be kept awake: " + fd.error().message,
                 "run it as root, or without --keep-awake"};
  }
  if (::write(fd->get(), &kLongestWakeUpUs, sizeof kLongestWakeUpUs) != sizeof kLongestWakeUpUs)
    return ErrnoError(kPath);
  return fd;
}

}  // namespace attune::session
