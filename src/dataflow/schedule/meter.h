#pragma once
/// Costs of kernels: counts and sampled times, a cell for each worker and kernel, so that counting needs no atomic
/// operation that other threads can hold up.

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "attune/flow/report.h"
#include "attune/flow/storage.h"
#include "wire/tsc.h"

namespace attune::flow::detail {

/// CLOCK_MONOTONIC in nanoseconds.
inline int64_t MonotonicNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Ticks of the cycle counter, and how many there are.
class TickRate {
 public:
  /// @cost 1 ms, the first one of a process
  TickRate();
  double Ns(double ticks) const { return ticks * ns_a_tick_; }
  int64_t Ticks(double ns) const { return static_cast<int64_t>(ns / ns_a_tick_); }
  /// What one reading takes.
  double tick_cost() const { return cost_; }

 private:
  double ns_a_tick_ = 1;
  double cost_ = 0;
};

/// One writer, any number of readers.
class Tally {
 public:
  void Add(int64_t value) { value_.store(value_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed); }
  int64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_ = 0;
};

/// Ticks for which a worker had work. @thread one writer, any number of readers
class BusyTicks {
 public:
  void Begin() {
    if (since_.load(std::memory_order_relaxed) == 0) [[unlikely]]
      since_.store(ReadTsc(), std::memory_order_relaxed);
  }
  void End() {
    const uint64_t since = since_.load(std::memory_order_relaxed);
    if (since == 0) return;
    sum_.store(sum_.load(std::memory_order_relaxed) + ReadTsc() - since, std::memory_order_relaxed);
    since_.store(0, std::memory_order_release);
  }
  uint64_t UntilNow() const {
    const uint64_t since = since_.load(std::memory_order_acquire);
    const uint64_t now = ReadTsc();
    return sum_.load(std::memory_order_relaxed) + (since != 0 && now > since ? now - since : 0);
  }

 private:
  std::atomic<uint64_t> sum_ = 0;
  std::atomic<uint64_t> since_ = 0;  ///< 0: it has none
};

/// Sums of one kernel in one worker. @thread written by the worker, read by any
struct alignas(64) Meter {
  Tally instances;
  std::array<Tally, kMaxSlices> stored_bytes;  ///< by Out, by store; single elements are known from their number
  Tally ranges;
  Tally timed_instances;
  Tally timed_ranges;
  Tally dispatch_ticks;  ///< of the timed ranges
  Tally body_ticks;
  std::array<Tally, kHistogramBuckets> histogram;

  // The worker's own.
  int64_t until_sample = 1;  ///< instances until a range is timed
  uint64_t random = 0x9e3779b97f4a7c15;
  double dispatch_ns = 0;  ///< of a range, smoothed
  double body_ns = 0;      ///< of an instance, smoothed
  int64_t samples = 0;
  int64_t next_decision = 4;
};

/// Instances from the next timed range to the one behind it. @param instances of the next one
int64_t SampleAfter(Meter* cell, int64_t instances);

/// Instances of a brief kernel that are timed as one range, even where others are dispatched in smaller ones. Timed
/// alone, one seems up to 10 ns longer or shorter, and some of its dispatch is done while the CPU waits for the last.
constexpr int64_t kTimedTogether = 32;
bool IsBrief(const Meter& cell);

/// A timed range.
struct TimedRange {
  int64_t instances = 0;
  uint64_t whole = 0;  ///< ticks from before it was prepared until it was handed on
  uint64_t body = 0;   ///< ticks of its bodies
  int64_t pieces = 1;  ///< parts of it whose bodies were timed by themselves
};
/// All that a worker did since the last timed range, where that was nothing but ranges of the same kernel.
struct Untimed {
  uint64_t ticks = 0;
  int64_t ranges = 0;  ///< 0: it did something else, too
  int64_t instances = 0;
};
void AddSample(Meter* cell, const TickRate& rate, const TimedRange& range, const Untimed& untimed = {});

/// Adds a cell to a kernel's cost, sampled times scaled to all of the cell's instances.
void AddTo(KernelCost* cost, const Meter& cell, const TickRate& rate);
/// Makes costs smaller where all together are more than the time for which workers were busy. Dispatch first: a CPU
/// works on the end of one instance and on the next one at once, but for those that are timed. Then what is
/// extrapolated of bodies: one that was interrupted while it was timed stands for many that were not.
void FitToBusyTime(double busy_ns, std::vector<KernelCost>* costs);
/// What came on top since `before`.
KernelCost Difference(const KernelCost& now, const KernelCost& before);

}  // namespace attune::flow::detail
