#pragma once
/// Sensor "memory": memory and swap, every key of /proc/meminfo that the running kernel has.

#include <vector>

#include "base/unique_fd.h"
#include "model/sensor.h"
#include "sensor/text/key_value_text.h"

namespace attune::sensor {

/// A file in the format of /proc/meminfo: what the kernel counts in kB becomes bytes, the rest stays as it is. Keys
/// that the kernel drops while running are absent from then on.
class MeminfoText {
 public:
  /// @return the keys of `text`, described by the catalog's sensor "memory"; kCorrupt if no line has a number
  Result<std::vector<model::SignalSpec>> Learn(std::string_view text);
  /// The largest text that Parse can take.
  size_t Capacity() const { return text_.Capacity(); }
  /// @param out one value for each key. Does not allocate
  void Parse(std::string_view text, std::span<int64_t> out);

 private:
  KeyValueText text_;
  std::vector<int64_t> factors_;
};

class MemorySensor final : public model::Sensor {
 public:
  const model::SensorInfo& Info() const override;
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  UniqueFd file_;
  MeminfoText text_;
  std::vector<char> buffer_;
};

}  // namespace attune::sensor
