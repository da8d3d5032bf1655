#pragma once
/// The threads of a run: each takes ranges of instances from its deque or another's, and parks when there are none.

#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/thread_safety.h"
#include "dataflow/runtime/deque.h"
#include "dataflow/runtime/watchdog.h"
#include "dataflow/schedule/meter.h"

namespace attune::flow::detail {

class RunBase;
class Workers;
struct RangeContext;

/// @thread its own, but for the deque's Steal and the cells' sums
struct Worker {
  Workers* pool = nullptr;
  int number = 0;
  size_t node = 0;
  Deque deque;
  std::unique_ptr<Meter[]> cells;  ///< by kernel
  BusyTicks busy;
  /// Ranges that single stores have made ready, put together while they are neighbours.
  Task gathered;
  /// Ranges to run right behind the one that runs.
  std::vector<Task> behind;
  std::unique_ptr<Running> running;  ///< nullptr: instances have no time limit
  uint64_t random = 0;
  std::thread thread;
};

class Workers {
 public:
  static constexpr int kMost = 256;
  std::atomic<bool> timing = true;

  /// @param watched there is a watchdog, which reads Cells()
  /// @param nodes groups of CPUs that workers are bound to, as many to each as it has CPUs; empty: they are not bound
  Workers(RunBase* engine, size_t kernels, int count, uint64_t perturb, bool timed, bool watched,
          const std::vector<cpu_set_t>& nodes);
  ~Workers();  ///< @pre Stop()
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void SetCount(int count);
  int Count() const { return wanted_.load(std::memory_order_relaxed); }
  /// Ends the threads, after the ranges that they run. @thread not a worker
  void Stop();
  /// Lets them end without waiting for it.
  void EndSoon();

  /// Hands out work. @param worker nullptr: from another thread
  void Push(Worker* worker, const Task& task);
  /// Hands out an age: to each node the same part of it as the last time, whose memory its workers have touched.
  void Share(const Task& task);
  /// The worker whose thread calls, of this pool; nullptr: another thread.
  Worker* Current() const;
  /// Elements are stored that these instances read: now, behind the range that runs, or soon.
  void Notify(RangeContext& context, const Task& task);
  /// Runs the alternates of a range on the thread that keeps deadlines. @return instances whose result counts
  int64_t RunAlternates(const Task& task) { return RunRange(&outside_, task, true); }

  /// Cells of all threads that run instances, for the watchdog. @thread any
  std::vector<const Running*> Cells() const;
  /// Of this kernel, all workers together. @thread any
  void AddCosts(int kernel, KernelCost* cost) const;
  double Ns(double ticks) const { return rate_.Ns(ticks); }
  /// Time for which workers had work, all together. @thread any
  double BusyNs() const;

 private:
  void Loop(Worker* worker);
  bool Next(Worker* worker, Task* task);
  bool Take(Worker* worker, Task* task, bool also_far);
  bool TakeFrom(size_t node, Worker* worker, Task* task);
  bool Search(Worker* worker, Task* task);
  void Park(Worker* worker);
  void ParkRetired(Worker* worker);
  class Ranges;
  void Execute(Worker* worker, Task task);
  int64_t RunRange(Worker* worker, const Task& task, bool alternate);
  void Account(const Task& task, int64_t results);
  void RunBehind(Worker* worker);
  void FlushGathered(Worker* worker);
  void Offer(const Task& task);
  void Wake();
  bool AnyWork() const;
  void LaunchUpTo(int count);
  uint64_t Random(Worker* worker) const;

  /// A group of CPUs, and work that is for its workers first.
  struct Node {
    cpu_set_t cpus = {};
    int first = 0;  ///< CPUs of the nodes before it
    int count = 0;  ///< its CPUs; 0: all that there are
    std::atomic<int64_t> tasks_count = 0;
    Mutex mutex;
    std::vector<Task> tasks ATTUNE_GUARDED_BY(mutex);
  };
  void Inject(Node& node, const Task& task);
  size_t NodeOf(int worker) const;

  RunBase* engine_;
  const size_t kernels_;
  const uint64_t perturb_;
  const bool watched_;
  const TickRate rate_;
  std::atomic<bool> ending_ = false;
  std::atomic<int> wanted_;
  std::atomic<int> started_ = 0;
  std::array<std::atomic<Worker*>, kMost> workers_ = {};
  std::atomic<int> sleeping_ = 0;
  std::atomic<int> searching_ = 0;
  alignas(64) std::atomic<uint32_t> signal_ = 0;
  std::atomic<uint32_t> retired_signal_ = 0;
  Worker outside_;  ///< of the thread that keeps deadlines
  Mutex launch_mutex_;
  std::vector<std::unique_ptr<Worker>> owned_ ATTUNE_GUARDED_BY(launch_mutex_);
  std::vector<std::unique_ptr<Node>> nodes_;  ///< at least one
};

}  // namespace attune::flow::detail
