#pragma once
/// The low-level scheduler: how many instances are dispatched together, and which kernels run behind others without a
/// barrier. Workers ask before each range and give what they measure; decisions are kept with their reasons.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attune/flow/report.h"
#include "base/thread_safety.h"
#include "dataflow/schedule/meter.h"

namespace attune::flow::detail {

/// What a text like "fixed:64,fuse:mul2+plus5" asks for.
struct Policy {
  bool guided = false;
  int64_t grain = 1;
  std::vector<std::pair<std::string, std::string>> fused;
};
/// @return false: `text` is none, and `problem` says why
bool ParsePolicy(std::string_view text, Policy* policy, std::string* problem);

/// Two kernels of which the second one can run behind the first one: it reads single elements that only the first one
/// stores.
struct Chain {
  int first = 0;
  int second = 0;
};

class Granularity {
 public:
  /// @param chains those that the graph has
  Granularity(Policy policy, std::vector<std::string> kernels, std::vector<Chain> chains);

  /// Instances that are dispatched together now. @thread any  @cost a load
  int64_t Grain(int kernel) const { return states_[static_cast<size_t>(kernel)].grain.load(std::memory_order_relaxed); }
  /// Whether `kernel` runs right behind those that it reads from. @thread any  @cost a load
  bool RunsBehind(int kernel) const {
    return states_[static_cast<size_t>(kernel)].behind.load(std::memory_order_relaxed);
  }
  bool guided() const { return fixed_.load(std::memory_order_relaxed) == 0; }
  /// Sets it from now on. @param grain of all kernels; 0: as measured. @thread any
  void SetGrain(int64_t grain);
  /// A decision of somebody else, on the run as a whole. @thread any
  void Note(int64_t now_ns, std::string change, std::string reason);

  /// A worker has timed a range of the kernel, and its cell has the smoothed times. @thread any, each with its own cell
  void Sampled(int kernel, Meter* cell, int threads, int64_t now_ns);
  /// The instances of the last age. @thread any
  void AgeHas(int kernel, int64_t instances) {
    states_[static_cast<size_t>(kernel)].instances.store(instances, std::memory_order_relaxed);
  }
  int64_t InstancesOfAge(int kernel) const {
    return states_[static_cast<size_t>(kernel)].instances.load(std::memory_order_relaxed);
  }
  /// Time of one instance as last measured, 0: not yet. @thread any  @cost a load
  double BodyNs(int kernel) const {
    return states_[static_cast<size_t>(kernel)].body_ns.load(std::memory_order_relaxed);
  }

  std::vector<Decision> Decisions() const;
  /// The kernel that `kernel` runs behind now; empty: none.
  std::string FusedInto(int kernel) const;

  /// The rule, without state. @param dispatch_ns of a range  @param body_ns of an instance  @param instances of an age,
  /// 0: unknown
  static int64_t GrainFor(double dispatch_ns, double body_ns, int64_t instances, int threads);

 private:
  struct State {
    std::atomic<int64_t> grain = 1;
    std::atomic<bool> behind = false;
    std::atomic<int64_t> instances = 0;
    std::atomic<double> body_ns = 0;
    std::atomic<double> dispatch_ns = 0;
    std::atomic<int64_t> samples = 0;
  };
  void DecideGrain(int kernel, const Meter& cell, int threads, int64_t now_ns);
  void DecideFusion(int kernel, int threads, int64_t now_ns);
  void Record(int kernel, int64_t now_ns, std::string change, std::string reason);
  void Keep(int kernel, Decision decision) ATTUNE_REQUIRES(mutex_);
  double DispatchEach(int kernel) const;

  const Policy policy_;
  std::atomic<int64_t> fixed_;  ///< grain of all kernels; 0: as measured
  std::vector<std::string> kernels_;
  std::vector<Chain> chains_;
  std::unique_ptr<State[]> states_;
  mutable Mutex mutex_;
  struct Recorded {
    int kernel;  ///< -1: the run as a whole
    Decision decision;
  };
  std::vector<Recorded> decisions_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::flow::detail
