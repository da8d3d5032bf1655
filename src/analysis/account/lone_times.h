#pragma once
/// Data that explains idle CPUs: stretches of time in which one thread alone could run, the waits of the others
/// meanwhile, and CPU samples with their times.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/waits/thread_lives.h"
#include "analysis/waits/thread_times.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

struct LoneStretch {
  model::ElementId thread = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  model::ElementId next = 0;  ///< thread that could run too at its end; 0: the thread itself slept or ended

  int64_t LengthNs() const { return end_ns - start_ns; }
};

/// A wait at a hook; also the start of a thread, of any length.
struct LongWait {
  model::ElementId thread = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  model::ElementId site = 0;

  int64_t LengthNs() const { return end_ns - start_ns; }
};

struct TimedSample {
  int64_t t_ns = 0;
  model::ElementId thread = 0;
  int64_t stack = 0;
  int64_t weight_ns = 0;
};

/// One thread's sums, by the scheduler.
struct ThreadActivity {
  int64_t active_ns = 0;  ///< running or queued
  int64_t alone_ns = 0;   ///< part of active_ns while no other thread was active
  int64_t woke_ns = 0;    ///< sleeps of others that it ended
};

/// All in order of time.
struct LoneTimes {
  bool is_exact = false;  ///< by the scheduler; else from the waits at hooks, which do not know all sleeps
  std::vector<LoneStretch> stretches;
  std::vector<LongWait> waits;
  std::vector<TimedSample> samples;
  int64_t parallel_ns = 0;                                        ///< time in which two threads or more could run
  double active_ns = 0;                                           ///< sum over threads: running or queued in that time
  std::unordered_map<model::ElementId, ThreadActivity> activity;  ///< empty where it is not exact
};

/// Bounded: of very many waits and stretches the longest are kept, of very many samples every second, fourth, ... with
/// as much more weight. @cost 30 ns a row, 24 to 32 bytes of memory for what is kept
class LoneTimesOperator final : public Operator {
 public:
  static constexpr size_t kMaxKept = size_t{1} << 19;  ///< limit for stretches, for waits and for samples

  std::vector<model::Table> Tables() const override { return {model::StateTime::kTable, model::CpuSample::kTable}; }
  void AddRows(const model::Batch& batch) override;
  EventKinds Kinds() const override { return {wire::EventKind::kWait}; }
  void AddEvents(const model::EventBlock& block) override;

  /// @param times says which threads hardly ran: of these nobody knows what they wait for
  LoneTimes Snapshot(const model::Metadata& meta, const std::vector<ThreadLife>& lives, const ThreadTimes& times) const;

 private:
  void AddSample(const model::CpuSample& row);
  void FromStates(const std::vector<ThreadLife>& lives, LoneTimes& result) const;

  std::vector<LoneStretch> stretches_;
  std::vector<LongWait> waits_;
  std::vector<TimedSample> samples_;
  int64_t least_stretch_ns_ = 0;
  static constexpr int64_t kLeastWaitNs = 100'000;
  int64_t least_wait_ns_ = kLeastWaitNs;
  uint64_t samples_in_all_ = 0;
  unsigned sample_shift_ = 0;
  bool has_states_ = false;
  int64_t alone_ns_ = 0;      ///< sum over all threads
  int64_t no_thread_ns_ = 0;  ///< wall time
  std::unordered_map<model::ElementId, ThreadActivity> activity_;
};

}  // namespace attune::analysis
