#pragma once
/// A run of a graph. Ages are its book-keeping, under one lock: which ages of fields and kernels there are, what waits
/// for what, what is complete, what can be reclaimed. Instances are not: workers take ranges of them from deques.

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "attune/flow/graph.h"
#include "base/thread_safety.h"
#include "dataflow/runtime/age_table.h"
#include "dataflow/runtime/instances.h"
#include "dataflow/runtime/plan.h"
#include "dataflow/runtime/steering.h"
#include "dataflow/runtime/stored_age.h"
#include "dataflow/runtime/workers.h"
#include "dataflow/schedule/granularity.h"

namespace attune::flow::detail {

class Deadlines;
class Keeper;
class Publisher;

class Engine final : public RunBase, public Steered {
 public:
  Engine(const GraphInfo& graph, const RunOptions& options);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- for RunningGraph
  const Report& Wait();
  void Cancel();
  void SetThreads(int threads) override;
  int Threads() const { return workers_->Count(); }
  void SetTiming(bool on) { workers_->timing.store(on, std::memory_order_relaxed); }
  std::vector<KernelCost> Costs() const;
  std::vector<KernelCost> CostsSinceLast();
  std::vector<Decision> Decisions() const { return granularity_.Decisions(); }
  bool PushFeed(int field, const void* values, int64_t count);
  void CloseFeed(int field);
  const FieldAge* KeptAge(int field, int64_t age) const;

  // ---- for what steers it (SetThreads() above, too)
  int WantedThreads() const override { return wanted_threads_.load(std::memory_order_relaxed); }
  void LimitThreads(int most) override;
  void SetGrain(int64_t grain) override;
  void SetAhead(int64_t ages) override;
  void Note(std::string change, std::string reason) override;

  // ---- for workers and bodies
  void Done(Instances* instances, int64_t count) override;
  void DoneWithDeadline(Instances* instances, int64_t results, int64_t bodies) override;
  void OpenTargets(Instances* instances) override;
  Instances* Pin(int kernel, int64_t age, int64_t serial) override;
  void Unpin(Instances* instances) override;
  void Fail(Error error) override;
  void StopAfter(int64_t age) override;
  void FinishSource(const Instances& instances) override;
  void NotifyReaders(RangeContext& context, const Task& task) override { workers_->Notify(context, task); }

 private:
  struct FieldState {
    AgeTable<StoredAge> live;
    std::vector<std::unique_ptr<StoredAge>> all;
    std::vector<StoredAge*> pool;
    AgeTable<StoredAge> kept;
    std::array<int64_t, kMaxRank> last_extent = {};
    int64_t newest_with_data = -1;
    int64_t feed_next = 0;
    bool feed_open = false;
    FieldSum sum;
  };
  struct KernelState {
    AgeTable<Instances> live;
    AgeSet done;
    std::vector<std::unique_ptr<Instances>> all;
    std::vector<Instances*> pool;
    int64_t source_end = kNoLimit;  ///< ages above do not exist
    int64_t ages = 0;
    double longest_ticks = 0;  ///< of all its ages, the longest timed range of each
    std::array<double, kMaxSlices> fetched_bytes = {};
  };
  /// An instance that cannot run as one of its ages stays empty.
  struct Missing {
    int kernel;
    int64_t age;
    int slice;
  };

  // ages.cpp
  void Begin() ATTUNE_REQUIRES(lock_);
  void Drain() ATTUNE_REQUIRES(lock_);
  Instances* Demand(int kernel, int64_t age) ATTUNE_REQUIRES(lock_);
  Instances* Create(int kernel, int64_t age) ATTUNE_REQUIRES(lock_);
  void WaitForOrder(Instances* instances) ATTUNE_REQUIRES(lock_);
  StoredAge* Track(int field, int64_t age) ATTUNE_REQUIRES(lock_);
  StoredAge* Open(int field, int64_t age, const std::array<int64_t, kMaxRank>& extents) ATTUNE_REQUIRES(lock_);
  void Stream(StoredAge* stored, Instances* reader) ATTUNE_REQUIRES(lock_);
  void CompleteAge(StoredAge* stored) ATTUNE_REQUIRES(lock_);
  void Reclaim(StoredAge* stored) ATTUNE_REQUIRES(lock_);
  void WriterDone(StoredAge* stored) ATTUNE_REQUIRES(lock_);
  void Ready(Instances* instances) ATTUNE_REQUIRES(lock_);
  void Satisfy(Instances* instances) ATTUNE_REQUIRES(lock_);
  void MakeEmpty(Instances* instances) ATTUNE_REQUIRES(lock_);
  void Finish(Instances* instances) ATTUNE_REQUIRES(lock_);
  void ReleaseIfUnused(Instances* instances) ATTUNE_REQUIRES(lock_);
  void ForgetWaits(Instances* instances) ATTUNE_REQUIRES(lock_);
  void Start(Instances* instances) ATTUNE_REQUIRES(lock_);
  void OpenTargetsLocked(Instances* instances) ATTUNE_REQUIRES(lock_);
  bool Domain(Instances* instances) ATTUNE_REQUIRES(lock_);
  void KnowTotal(Instances* instances) ATTUNE_REQUIRES(lock_);
  bool MustWait(const Instances& instances) const ATTUNE_REQUIRES(lock_);
  bool StartHeld(bool force) ATTUNE_REQUIRES(lock_);
  void CheckEnd() ATTUNE_REQUIRES(lock_);
  void NoteMissing(const Instances& instances) ATTUNE_REQUIRES(lock_);
  void ForgetGaps(int kernel) ATTUNE_REQUIRES(lock_);
  int64_t HighOf(int kernel) const ATTUNE_REQUIRES(lock_);
  bool HoleError(const StoredAge& stored) ATTUNE_REQUIRES(lock_);

  // engine.cpp
  std::optional<Error> FusionProblem(const std::string& first, const std::string& second) const;
  void Publish(const Policy& policy);
  void SetWorkers();
  void End(Outcome outcome) ATTUNE_REQUIRES(lock_);
  void FailLocked(Error error) ATTUNE_REQUIRES(lock_);
  void MakeReport();
  std::vector<std::string> WaitingTexts() ATTUNE_REQUIRES(lock_);
  std::vector<KernelCost> CostsLocked() const ATTUNE_REQUIRES(lock_);
  void TimedOut(const InstanceId& instance);
  std::optional<Error> StartKeeping();
  void Written(StoredAge* stored);
  void KeepInputs(const Error& error) ATTUNE_REQUIRES(lock_);
  bool AnyFeedOpen() const ATTUNE_REQUIRES(lock_);

  const RunOptions options_;
  const int64_t until_;
  Plan plan_;
  std::atomic<int64_t> live_bytes_ = 0;
  std::atomic<int> wanted_threads_;
  std::atomic<int> most_threads_ = Workers::kMost;

  mutable Mutex lock_;
  CondVar ended_changed_;
  CondVar feed_changed_;
  std::vector<FieldState> fields_ ATTUNE_GUARDED_BY(lock_);
  std::vector<KernelState> kernels_ ATTUNE_GUARDED_BY(lock_);
  std::deque<Instances*> finish_ ATTUNE_GUARDED_BY(lock_);
  std::deque<Instances*> ready_ ATTUNE_GUARDED_BY(lock_);
  std::vector<Instances*> held_ ATTUNE_GUARDED_BY(lock_);
  int64_t ahead_ ATTUNE_GUARDED_BY(lock_);        ///< ages of a field that may be there
  int64_t live_ ATTUNE_GUARDED_BY(lock_) = 0;     ///< instances that are not finished, by kernel and age
  int64_t busy_ ATTUNE_GUARDED_BY(lock_) = 0;     ///< of those: started, and their number is known
  int64_t zombies_ ATTUNE_GUARDED_BY(lock_) = 0;  ///< finished, but a late body still runs
  int64_t keeping_ ATTUNE_GUARDED_BY(lock_) = 0;  ///< ages that the keeper has not written
  int64_t stop_age_ ATTUNE_GUARDED_BY(lock_) = kNoLimit;
  int64_t serial_ ATTUNE_GUARDED_BY(lock_) = 0;
  int64_t peak_bytes_ ATTUNE_GUARDED_BY(lock_) = 0;
  bool reclaimed_ ATTUNE_GUARDED_BY(lock_) = false;
  bool ended_ ATTUNE_GUARDED_BY(lock_) = false;
  bool reported_ = false;  ///< of the threads that wait: the first one makes the report
  std::vector<Missing> missing_ ATTUNE_GUARDED_BY(lock_);
  std::vector<KernelCost> last_costs_ ATTUNE_GUARDED_BY(lock_);
  Report report_;
  std::unique_ptr<Deadlines> deadlines_;
  std::unique_ptr<Keeper> keeper_;
  std::unique_ptr<Steering> steering_;
  std::unique_ptr<Publisher> publisher_;
  std::unique_ptr<Watchdog> watchdog_;
  std::unique_ptr<Workers> workers_;  ///< the last one: its threads use the others
};

}  // namespace attune::flow::detail
