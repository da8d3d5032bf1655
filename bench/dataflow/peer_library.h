#pragma once
/// Peers that are libraries beside the programs, which CMakeLists.txt names: OPENMP_GCC, OPENMP_LLVM, STARPU.

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "dataflow/peer.h"
#include "harness/figure.h"

namespace attune::bench {

using NamedPeers = std::vector<std::pair<std::string, void (*)(const Instances&)>>;

/// Those of all libraries that were built. The others are reported as unavailable.
inline NamedPeers OpenPeers() {
  NamedPeers found;
  const std::pair<const char*, const char*> libraries[] = {
      {"OpenMP (GCC)", OPENMP_GCC}, {"OpenMP (LLVM)", OPENMP_LLVM}, {"StarPU", STARPU}};
  for (const auto& [runtime, path] : libraries) {
    void* library = *path == '\0' ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const auto peers = library == nullptr ? nullptr : reinterpret_cast<PeersFunction>(::dlsym(library, kPeersName));
    const Peer* peer = peers == nullptr ? nullptr : peers();
    if (peer == nullptr) {
      ReportUnavailable(runtime, *path == '\0' ? "it was not there when this was built" : "its library does not start");
      continue;
    }
    for (; peer->name != nullptr; ++peer) found.emplace_back(std::string(runtime) + " " + peer->name, peer->run);
  }
  return found;
}

}  // namespace attune::bench
