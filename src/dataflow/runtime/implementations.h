#pragma once
/// Choice of the code of kernels that have several implementations.

#include <optional>
#include <string>
#include <vector>

#include "attune/flow/graph.h"

namespace attune::flow::detail {

/// Code of a kernel that runs.
struct Chosen {
  RangeFunction run = nullptr;
  const void* body = nullptr;
  Capability capability = Capability::kCpu;
};

/// Chooses for each kernel the most capable code that the machine can run.
/// @param wanted not empty: the capability of that name alone, and code for every machine where a kernel has none for
/// it
/// @param has whether the machine has a capability
/// @return the error, where the wanted one cannot be: unknown, of another machine, of no kernel. `chosen` is valid
/// then, too
std::optional<Error> ChooseImplementations(const GraphInfo& graph, const std::string& wanted, bool (*has)(Capability),
                                           std::vector<Chosen>* chosen);

}  // namespace attune::flow::detail
