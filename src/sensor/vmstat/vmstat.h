#pragma once
/// Sensor "vmstat": every key of /proc/vmstat that the running kernel has.

#include <vector>

#include "base/unique_fd.h"
#include "model/sensor.h"
#include "sensor/text/key_value_text.h"

namespace attune::sensor {

/// Keys that the kernel drops while running are absent from then on; keys that it gains are not seen until the next
/// start.
class VmstatSensor final : public model::Sensor {
 public:
  const model::SensorInfo& Info() const override;
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  UniqueFd file_;
  KeyValueText text_;
  std::vector<char> buffer_;
};

}  // namespace attune::sensor
