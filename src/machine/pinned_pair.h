#pragma once
/// Two threads on two CPUs that take turns: the one thing that latencies and clocks between CPUs are measured with.

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/cpu_set.h"

namespace attune::machine {

/// A turn that goes to and fro between two threads. Each wait ends when the time is over, so that a CPU that somebody
/// else has cannot hold us up for long.
class Turns {
 public:
  /// @param until_ns CLOCK_MONOTONIC; no waiting after it
  explicit Turns(int64_t until_ns) : until_ns_(until_ns) {}

  /// Gives the turn to the other side. Everything written before is seen there.
  void Give(uint32_t turn) { turn_.store(turn, std::memory_order_release); }
  /// Spins until it is this turn. @return false: the time is over, or the other side has given up
  bool Await(uint32_t turn) {
    for (uint32_t spins = 1; turn_.load(std::memory_order_acquire) != turn; ++spins) {
      if (spins % kLookEvery == 0 && IsOver()) return false;
    }
    return true;
  }
  /// Ends the waiting of both sides.
  void Stop() { stopped_.store(true, std::memory_order_relaxed); }

 private:
  static constexpr uint32_t kLookEvery = 2048;
  bool IsOver();

  alignas(128) std::atomic<uint32_t> turn_{0};
  alignas(128) std::atomic<bool> stopped_{false};
  const int64_t until_ns_;
};

/// Runs both at once, each on its CPU, and returns when both have ended.
/// @return the first CPU's or the second's error of pinning; then neither ran
Status RunPinned(CpuId first_cpu, const std::function<void()>& first, CpuId second_cpu,
                 const std::function<void()>& second);

/// Runs on one CPU and returns when it has ended. @return why the thread could not be pinned; then it did not run
Status RunPinned(CpuId cpu, const std::function<void()>& work);

}  // namespace attune::machine
