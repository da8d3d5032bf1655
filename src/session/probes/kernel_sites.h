#pragma once
/// The elements of the kernel's functions in programs' call paths.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/host_root.h"
#include "session/core/pipeline.h"
#include "session/core/process_table.h"
#include "session/core/registry.h"
#include "symbols/kernel_symbols.h"

namespace attune::session {

/// Names are asked for one by one where the watcher can; else all are read when they are worth their cost: after
/// kUnnamed addresses were asked for. Bounded: after kMaxSites functions, others are none. @thread one at a time
class KernelSites {
 public:
  static constexpr size_t kMaxSites = 16'384;
  static constexpr int kUnnamed = 64;

  /// The name of a kernel's function; "": not known.
  using Namer = std::function<std::string(uint64_t address)>;

  KernelSites(const HostRoot& host, Namer name, ProcessTable& processes, Registry& registry, Pipeline& pipeline)
      : host_(host), name_(std::move(name)), processes_(processes), registry_(registry), pipeline_(pipeline) {}

  /// Parent of all that the kernel does for a process.
  model::ElementId Root(int32_t pid);
  /// The function at an address, for a process; made, and its rows published, if it is new. 0: not known.
  /// @cost 2 us for a new address; where all names have to be read, the first one: 50 ms
  model::ElementId Add(int32_t pid, uint64_t address);
  /// The name of the function at an address; "": not known.
  std::string_view NameOf(uint64_t address);

 private:
  const HostRoot& host_;
  const Namer name_;
  std::unordered_map<uint64_t, std::string> names_;  ///< by address, as name_ told them
  ProcessTable& processes_;
  Registry& registry_;
  Pipeline& pipeline_;
  int asked_ = 0;
  symbols::KernelSymbols symbols_;                                                   ///< empty: not read yet, or hidden
  std::map<std::pair<model::ElementId, std::string_view>, model::ElementId> sites_;  ///< by process and function
};

}  // namespace attune::session
