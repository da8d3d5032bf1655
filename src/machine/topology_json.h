#pragma once
/// The topology as JSON: the document that docs/machine.md describes.

#include <nlohmann/json_fwd.hpp>

#include "machine/topology.h"

namespace attune::machine {

/// The same in a recording (info key `topology`) and in `attune info --json`. @cost 512 CPUs: 25 kB
nlohmann::ordered_json ToJson(const Topology& topology);

}  // namespace attune::machine
