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
#include "sensor/catalog.h"
#include "sensor/hardware/counters.h"
#include "sensor/perf/perf_event.h"

namespace attune::sensor {

/// The count of a multiplexed event, scaled to the whole time. Never falls.
class ScaledCount {
 public:
  /// As the kernel gives it: the count, and for how long it was to be counted and was.
  struct Reading {
    uint64_t value = 0;
    uint64_t enabled_ns = 0;
    uint64_t running_ns = 0;
  };
  /// Adds the growth since the last reading, divided by the share of the time in which the event was counted.
  /// @return false: it was not counted at all meanwhile; the time is made up for by the next reading
  bool Add(const Reading& now);
  int64_t total() const { return total_; }
  /// Counted share of the time at the last reading, in tenths of a percent.
  int64_t share_permille() const { return share_permille_; }

 private:
  Reading last_;
  int64_t total_ = 0;
  int64_t share_permille_ = 0;
};

/// Each event of each CPU is counted by itself, so that the kernel can let them take turns where the CPU has fewer
/// counters.
class HardwareSensor final : public OfCatalog<"hardware"> {
 public:
  /// @param open what opens counters; empty: the kernel, where the host is this machine
  explicit HardwareSensor(PerfOpen open = {}) : HardwareSensor(std::move(open), std::make_shared<Kept>()) {}

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
    ScaledCount count;  ///< @thread sampler only
  };
  /// Shared by an instance and those that follow it, so that counts go on.
  struct Kept {
    Mutex mutex;
    /// by CPU and place in HardwareCounters()
    std::map<std::pair<CpuId, size_t>, std::shared_ptr<Counter>> counters ATTUNE_GUARDED_BY(mutex);
  };
  /// Cores of one kind.
  struct Pmu {
    std::string device;  ///< "cpu", "cpu_core", "armv8_cortex_a72"
    std::string name;    ///< as the kernel calls its kind: "skylake"
    uint64_t type = 0;
    CpuSet cpus;
    bool is_one_of_several = false;
  };

  HardwareSensor(PerfOpen open, std::shared_ptr<Kept> kept) : open_(std::move(open)), kept_(std::move(kept)) {}
  static std::vector<Pmu> FindPmus(const HostRoot& host, const CpuSet& online);
  static std::vector<const CounterEvent*> EventsOf(const HardwareCounter& counter, const Pmu& pmu,
                                                   const std::string& vendor);
  /// @return nullptr: the CPU has none of these events, or has just gone; `why` says it
  static Result<std::shared_ptr<Counter>> Open(const HostRoot& host, const PerfOpen& open, const Pmu& pmu, CpuId cpu,
                                               std::span<const CounterEvent* const> events, std::string& why);
  /// A counter on all CPUs of a kind; its signals are added. @return the event; nullptr: it cannot be had, as `why`
  /// says
  Result<const CounterEvent*> Count(const HostRoot& host, const PerfOpen& open, const Pmu& pmu, size_t place,
                                    std::vector<const CounterEvent*> events, std::string& why,
                                    std::vector<model::SignalSpec>& specs) ATTUNE_REQUIRES(kept_->mutex);

  const PerfOpen open_;
  const std::shared_ptr<Kept> kept_;
  std::vector<std::shared_ptr<Counter>> counters_;  ///< two signals each: count and share
  std::vector<std::pair<std::string, std::string>> notes_;
};

}  // namespace attune::sensor
