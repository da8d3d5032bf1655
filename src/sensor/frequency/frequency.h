#pragma once
/// Sensor "frequency": the clock of each CPU, from cpufreq.

#include <vector>

#include "base/cpu_set.h"
#include "sensor/catalog.h"
#include "sensor/text/number_file.h"

namespace attune::sensor {

/// CPUs that share a clock (a cpufreq policy) are read once. A CPU that is offline has no value.
class FrequencySensor final : public OfCatalog<"frequency"> {
 public:
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  struct Policy {
    NumberFile current_khz;
    size_t cpus;                           ///< columns that have its value
    int64_t fastest_khz = model::kAbsent;  ///< does not change; kAbsent: not known, and there are no columns for it
    CpuSet related;
  };
  std::vector<Policy> policies_;
};

}  // namespace attune::sensor
