#pragma once
/// The instances of a kernel at one age, and what the threads that run them know of the run.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attune/flow/graph.h"
#include "dataflow/runtime/deque.h"
#include "dataflow/runtime/implementations.h"
#include "dataflow/runtime/watchdog.h"
#include "dataflow/schedule/granularity.h"

namespace attune::flow::detail {

/// The instances of a kernel at one age, with what the engine knows of them.
/// @thread remaining, bodies, longest_ticks, targets_open, decided: any. The rest: under the engine's lock until they
/// start
struct Instances : KernelAge {
  int kernel = 0;
  std::atomic<int64_t> remaining = 0;       ///< instances without a result; far above, while their number is unknown
  std::atomic<int64_t> bodies = 0;          ///< with a deadline: bodies that have not returned
  std::atomic<uint64_t> longest_ticks = 0;  ///< of its timed ranges
  std::atomic<bool> targets_open = false;
  int64_t total = 0;
  std::array<int64_t, kMaxSlices> fetched_bytes = {};  ///< of an instance, by fetch
  int waits = 0;
  int pins = 0;  ///< the keeper of deadlines uses it
  bool started = false;
  bool streaming = false;
  bool busy = false;
  bool empty = false;
  bool queued = false;
  bool finished = false;
  int64_t serial = 0;
  Instances* next_in_order = nullptr;
  std::vector<Instances*> gated;
  std::unique_ptr<std::atomic<uint8_t>[]> decisions;
};

/// The run as workers and the keeper of deadlines see it. @thread any
class RunBase {
 public:
  RunBase(const GraphInfo& graph, Policy policy, std::vector<std::string> kernels, std::vector<Chain> chains)
      : graph_(graph),
        start_ns_(MonotonicNow()),
        granularity_(std::move(policy), std::move(kernels), std::move(chains)),
        missed_(new std::atomic<int64_t>[graph.kernels.size()]()) {}
  virtual ~RunBase() = default;
  RunBase(const RunBase&) = delete;
  RunBase& operator=(const RunBase&) = delete;

  const GraphInfo& graph() const { return graph_; }
  /// Code of a kernel that runs.
  const Chosen& chosen(int kernel) const { return chosen_[static_cast<size_t>(kernel)]; }
  Granularity& granularity() { return granularity_; }
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }
  int64_t NowNs() const { return MonotonicNow() - start_ns_; }
  void CountMissed(int kernel) { missed_[static_cast<size_t>(kernel)].fetch_add(1, std::memory_order_relaxed); }

  /// Results of `count` instances are there. Nothing of `instances` may be used afterwards.
  virtual void Done(Instances* instances, int64_t count) = 0;
  /// With a deadline: `results` of `bodies` instances count.
  virtual void DoneWithDeadline(Instances* instances, int64_t results, int64_t bodies) = 0;
  /// Makes the ages that they store into, where that was put off until the first of them runs.
  virtual void OpenTargets(Instances* instances) = 0;
  /// For the keeper of deadlines: holds instances that have no result yet. @return nullptr: they have
  virtual Instances* Pin(int kernel, int64_t age, int64_t serial) = 0;
  virtual void Unpin(Instances* instances) = 0;

  // ---- for bodies
  virtual void Fail(Error error) = 0;
  virtual void StopAfter(int64_t age) = 0;
  virtual void FinishSource(const Instances& instances) = 0;
  virtual void NotifyReaders(RangeContext& context, const Task& task) = 0;

  /// An error of an instance, or of all of a kernel's age where it is about extents.
  Error ErrorAt(const InstanceId& instance, ErrorKind kind, const std::string& what) const;
  Error ErrorAt(const Instances& instances, const int64_t* index, ErrorKind kind, const std::string& what) const;
  /// "m(3)"
  std::string FieldText(int field, int64_t age) const;

 protected:
  const GraphInfo& graph_;
  std::vector<Chosen> chosen_;  ///< fixed before the first instance runs
  const int64_t start_ns_;
  Granularity granularity_;
  std::atomic<bool> stopping_ = false;
  std::unique_ptr<std::atomic<int64_t>[]> missed_;
};

}  // namespace attune::flow::detail
