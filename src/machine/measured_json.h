#pragma once
/// Measured and read properties of the machine as JSON, as docs/machine.md describes it.

#include <nlohmann/json_fwd.hpp>

#include "machine/capabilities.h"
#include "machine/clocks.h"
#include "machine/latency.h"

namespace attune::machine {

nlohmann::ordered_json ToJson(const Latencies& latencies);
nlohmann::ordered_json ToJson(const Clocks& clocks);
nlohmann::ordered_json ToJson(const Capabilities& capabilities);

}  // namespace attune::machine
