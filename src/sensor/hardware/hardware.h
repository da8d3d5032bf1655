#pragma once
/// Sensor "hardware": what the cores' own counters count, by perf_event_open (docs/hardware.md).

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/thread_safety.h"
#include "base/unique_fd.h"
#include "counter/perf_open.h"
#include "counter/pmu.h"
#include "counter/scaled_count.h"
#include "sensor/catalog.h"
#include "sensor/hardware/counters.h"

namespace attune::sensor {

/// Each event of each CPU is counted by itself, so that the kernel can let them take turns where the CPU has fewer
/// counters.
class HardwareSensor final : public OfCatalog<"hardware"> {
 public:
  /// @param open what opens counters; empty: the kernel, where the host is this machine
  explicit HardwareSensor(counter::PerfOpen open = {}) : HardwareSensor(std::move(open), std::make_shared<Kept>()) {}

  Result<std::vector<model::SignalSpec>> Prepare(const HostRoot& host) override;
  bool Sample(std::span<int64_t> out) override;
  std::unique_ptr<model::Sensor> Fresh() const override {
    return std::unique_ptr<model::Sensor>(new HardwareSensor(open_, kept_));
  }
  std::vector<std::pair<std::string, std::string>> Notes() const override { return notes_; }

 private:
  struct Counter {
    UniqueFd fd;
    const CounterEvent* event = nullptr;
    counter::ScaledCount count;  ///< @thread sampler only
  };
  /// Shared by an instance and those that follow it, so that counts go on.
  struct Kept {
    Mutex mutex;
    /// by CPU and place in HardwareCounters()
    std::map<std::pair<CpuId, size_t>, std::shared_ptr<Counter>> counters ATTUNE_GUARDED_BY(mutex);
  };

  HardwareSensor(counter::PerfOpen open, std::shared_ptr<Kept> kept) : open_(std::move(open)), kept_(std::move(kept)) {}
  static std::vector<const CounterEvent*> EventsOf(const HardwareCounter& counter, const counter::Pmu& pmu,
                                                   const std::string& vendor);
  /// @return nullptr: the CPU has none of these events, or has just gone; `why` says it
  static Result<std::shared_ptr<Counter>> Open(const HostRoot& host, const counter::PerfOpen& open,
                                               const counter::Pmu& pmu, CpuId cpu,
                                               std::span<const CounterEvent* const> events, std::string& why);
  /// A counter on all CPUs of a kind; its signals are added. @return the event; nullptr: it cannot be had, as `why`
  /// says
  Result<const CounterEvent*> Count(const HostRoot& host, const counter::PerfOpen& open, const counter::Pmu& pmu,
                                    size_t place, std::vector<const CounterEvent*> events, std::string& why,
                                    std::vector<model::SignalSpec>& specs) ATTUNE_REQUIRES(kept_->mutex);

  const counter::PerfOpen open_;
  const std::shared_ptr<Kept> kept_;
  std::vector<std::shared_ptr<Counter>> counters_;  ///< two signals each: count and share
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace attune::sensor
