#include "session/placement.h"

#include <algorithm>

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

}  // namespace attune::session
