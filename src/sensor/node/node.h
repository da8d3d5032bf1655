#pragma once
/// Sensor "node": allocations, virtual memory and memory of each NUMA node, from /sys/devices/system/node.

#include <array>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "model/sensor.h"
#include "sensor/memory/memory.h"
#include "sensor/text/key_value_text.h"

namespace attune::sensor {

/// Takes `prefix` off the front of each line of `text`, in place; lines without it stay. @return the new size
/// E.g. "Node 0 MemFree: 1 kB" to "MemFree: 1 kB".
size_t StripLinePrefix(std::span<char> text, std::string_view prefix);

/// Node numbers may be sparse. What the files of a node hold is described by the catalog's sensors "node" (numastat),
/// "vmstat" and "memory"; the events that numastat and vmstat both count are there once.
class NodeSensor final : public model::Sensor {
 public:
  const model::SensorInfo& Info() const override;
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Node {
    model::ElementKey element;
    std::string folder;
    std::string prefix;  ///< of each line of its meminfo: "Node 0 "
    UniqueFd numastat, vmstat, meminfo;
    KeyValueText numastat_text, vmstat_text;
    MeminfoText meminfo_text;
    size_t meminfo_keys = 0;
    std::vector<size_t> vmstat_columns;  ///< those that numastat does not have
  };

  /// A file that this kernel does not have, or that has no number, is left out.
  void PrepareNumastat(const HostRoot& host, Node& node, std::vector<model::SignalSpec>& specs);
  void PrepareVmstat(const HostRoot& host, Node& node, std::vector<model::SignalSpec>& specs);
  void PrepareMeminfo(const HostRoot& host, Node& node, std::vector<model::SignalSpec>& specs);
  /// The file's text in buffer_; empty where it cannot be read.
  std::span<char> Read(const UniqueFd& file);

  std::vector<Node> nodes_;
  std::vector<char> buffer_;
  std::vector<int64_t> values_;  // of one vmstat, before the columns are chosen
};

}  // namespace attune::sensor
