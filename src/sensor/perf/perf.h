#pragma once
/// Sensor "perf": the kernel's software events on each CPU, by perf_event_open.

#include <map>
#include <memory>
#include <vector>

#include "base/cpu_set.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "counter/perf_open.h"
#include "sensor/catalog.h"

namespace attune::sensor {

/// All events of a CPU are one group, read by one call. A CPU that goes offline loses its counters; within about a
/// second its signals go, and come again (from 0) when it is back.
class PerfSensor final : public OfCatalog<"perf"> {
 public:
  /// @param open what opens counters; empty: the kernel, where the host is this machine
  explicit PerfSensor(counter::PerfOpen open = {}) : PerfSensor(std::move(open), std::make_shared<Counters>()) {}

  /// kPermission: says which right is missing.
  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override {
    return std::unique_ptr<model::Sensor>(new PerfSensor(open_, counters_));
  }

 private:
  using Group = std::vector<UniqueFd>;  ///< events of one CPU; the first one leads
  /// Shared by an instance and those that follow it, so that looking again does not open everything again.
  struct Counters {
    Mutex mutex;
    std::map<CpuId, std::shared_ptr<const Group>> of_cpu ATTUNE_GUARDED_BY(mutex);
  };

  PerfSensor(counter::PerfOpen open, std::shared_ptr<Counters> counters)
      : open_(std::move(open)), counters_(std::move(counters)) {}
  /// @return nullptr: the CPU has just gone offline
  Result<std::shared_ptr<const Group>> OpenGroup(const HostRoot& host, const counter::PerfOpen& open, CpuId cpu) const;

  const counter::PerfOpen open_;
  const std::shared_ptr<Counters> counters_;
  std::vector<std::shared_ptr<const Group>> groups_;
};

}  // namespace attune::sensor
