#pragma once
/// Sensor "attune": what attune costs and misses itself.

#include <atomic>
#include <memory>

#include "sensor/catalog.h"

namespace attune::sensor {

/// The sampler's counters of its cost and missed ticks. @thread any
struct SelfMeter {
  std::atomic<int64_t> sampler_cpu_ns{0};
  std::atomic<int64_t> missed_ticks{0};
};

class SelfSensor final : public OfCatalog<"attune"> {
 public:
  /// @param meter the sampler's; without one the sensor is unavailable
  explicit SelfSensor(std::shared_ptr<const SelfMeter> meter) : meter_(std::move(meter)) {}
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;

 private:
  std::shared_ptr<const SelfMeter> meter_;
};

}  // namespace attune::sensor
