#pragma once
/// Sensor "node": allocations, virtual memory and memory of each NUMA node, from /sys/devices/system/node.

#include <string>
#include <vector>

#include "sensor/catalog.h"
#include "sensor/text/key_value_file.h"

namespace attune::sensor {

/// Node numbers may be sparse. What the files of a node hold is described by the catalog's sensors "node" (numastat),
/// "vmstat" and "memory"; the events that numastat and vmstat both count are there once.
class NodeSensor final : public OfCatalog<"node"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  /// The files of all nodes. One that this kernel does not have, or that has no number, is left out.
  std::vector<KeyValueFile> files_;
};

}  // namespace attune::sensor
