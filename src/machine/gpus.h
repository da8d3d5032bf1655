#pragma once
/// The GPUs of a machine.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host_root.h"
#include "model/sensor.h"

namespace attune::machine {

/// A GPU as the sensor sees it.
struct Gpu {
  std::string name;  ///< the element's: "card0", "nvidia0"
  std::optional<uint64_t> memory_bytes;
};

/// GPUs that the sensor finds; empty: none. @param sensor "gpu" of the catalog, not prepared yet
std::vector<Gpu> FindGpus(const HostRoot& host, model::Sensor& sensor);

}  // namespace attune::machine
