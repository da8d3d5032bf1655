#include "dataflow/runtime/workers.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <utility>

#include "attune/flow/kernel.h"
#include "base/futex.h"
#include "dataflow/runtime/idle.h"
#include "dataflow/runtime/instances.h"
#include "dataflow/schedule/meter.h"

namespace attune::flow::detail {
namespace {

constexpr int kSearches = 30;                 // rounds, of about half a microsecond each, before a worker parks
constexpr int64_t kMostGathered = 256;        // instances that wait to become one range
constexpr double kWorthWakingNs = 5000;       // waking a thread costs about that
constexpr int64_t kEvenIfCheap = 4;           // ranges that may lie in a deque while others sleep
constexpr double kWorthSpreadingNs = 20'000;  // less work than this is not divided among nodes
constexpr int64_t kLookForTiming = 64;        // instances, until timing may have been switched on
constexpr int64_t kLookAgainNs = 1'000'000;

thread_local Worker* t_worker = nullptr;

bool RegisterMembarrier() { return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0; }

void Pause() {
#if defined(__x86_64__)
  for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
#else
  ::sched_yield();
#endif
}

void NoteRange(Instances* instances, uint64_t ticks) {
  std::atomic<uint64_t>& longest = instances->longest_ticks;
  for (uint64_t known = longest.load(std::memory_order_relaxed); known < ticks;) {
    if (longest.compare_exchange_weak(known, ticks, std::memory_order_relaxed)) return;
  }
}

/// A worker that has nothing to do.
void Sleep(const std::atomic<uint32_t>& signal, uint32_t seen, int64_t deadline_ns) {
  const Idle idle;
  FutexWait(signal, seen, deadline_ns);
}

}  // namespace

Workers::Workers(RunBase* engine, size_t kernels, int count, uint64_t perturb, bool timed, bool watched,
                 const std::vector<cpu_set_t>& nodes)
    : timing(timed),
      engine_(engine),
      kernels_(kernels),
      perturb_(perturb),
      watched_(watched),
      wanted_(std::clamp(count, 1, kMost)) {
  if (watched_) outside_.running = std::make_unique<Running>();
  outside_.pool = this;
  outside_.number = -1;
  outside_.cells = std::make_unique<Meter[]>(kernels);
  int cpus = 0;
  for (const cpu_set_t& node : nodes) {
    nodes_.push_back(std::make_unique<Node>());
    nodes_.back()->cpus = node;
    nodes_.back()->first = cpus;
    nodes_.back()->count = CPU_COUNT(&node);
    cpus += nodes_.back()->count;
  }
  if (nodes_.empty()) nodes_.push_back(std::make_unique<Node>());
}

Workers::~Workers() = default;

void Workers::LaunchUpTo(int count) {
  const MutexLock lock(launch_mutex_);
  if (ending_.load(std::memory_order_seq_cst)) return;
  for (int number = started_.load(std::memory_order_relaxed); number < count; ++number) {
    auto worker = std::make_unique<Worker>();
    worker->pool = this;
    worker->number = number;
    worker->node = NodeOf(number);
    worker->cells = std::make_unique<Meter[]>(kernels_);
    if (watched_) worker->running = std::make_unique<Running>();
    worker->random = (perturb_ + 1) * 0x9e3779b97f4a7c15 ^ (static_cast<uint64_t>(number) + 1) * 0xbf58476d1ce4e5b9;
    for (size_t kernel = 0; kernel < kernels_; ++kernel) worker->cells[kernel].random ^= worker->random;
    Worker* raw = worker.get();
    workers_[static_cast<size_t>(number)].store(raw, std::memory_order_release);
    started_.store(number + 1, std::memory_order_release);
    owned_.push_back(std::move(worker));
    raw->thread = std::thread([this, raw] { Loop(raw); });
    char name[16];
    std::snprintf(name, sizeof name, "flow-%d", number);
    ::pthread_setname_np(raw->thread.native_handle(), name);
    // A refusal makes it no more than slower.
    const Node& node = *nodes_[raw->node];
    if (node.count > 0) ::pthread_setaffinity_np(raw->thread.native_handle(), sizeof node.cpus, &node.cpus);
  }
}

void Workers::SetCount(int count) {
  count = std::clamp(count, 1, kMost);
  wanted_.store(count, std::memory_order_seq_cst);
  LaunchUpTo(count);
  retired_signal_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(retired_signal_, INT_MAX);
  signal_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(signal_, INT_MAX);
}

void Workers::EndSoon() {
  ending_.store(true, std::memory_order_seq_cst);
  retired_signal_.fetch_add(1, std::memory_order_seq_cst);
  signal_.fetch_add(1, std::memory_order_seq_cst);
  FutexWake(retired_signal_, INT_MAX);
  FutexWake(signal_, INT_MAX);
}

void Workers::Stop() {
  EndSoon();
  std::vector<Worker*> all;
  {
    const MutexLock lock(launch_mutex_);
    for (const auto& worker : owned_) all.push_back(worker.get());
  }
  // Without the lock: a body may be in SetCount().
  for (Worker* worker : all) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

Worker* Workers::Current() const { return t_worker != nullptr && t_worker->pool == this ? t_worker : nullptr; }

uint64_t Workers::Random(Worker* worker) const {
  worker->random ^= worker->random << 13;
  worker->random ^= worker->random >> 7;
  worker->random ^= worker->random << 17;
  return worker->random;
}

// ---- handing out

void Workers::Push(Worker* worker, const Task& task) {
  if (worker != nullptr && worker->number >= 0 && worker->deque.Push(task)) {
    Offer(task);
    return;
  }
  Inject(*nodes_[0], task);
  Wake();
}

void Workers::Inject(Node& node, const Task& task) {
  const MutexLock lock(node.mutex);
  node.tasks.push_back(task);
  node.tasks_count.store(static_cast<int64_t>(node.tasks.size()), std::memory_order_release);
}

size_t Workers::NodeOf(int worker) const {
  const int all = nodes_.back()->first + nodes_.back()->count;
  size_t node = nodes_.size() - 1;
  while (all > 0 && nodes_[node]->first > worker % all) --node;
  return all > 0 ? node : 0;
}

void Workers::Share(const Task& task) {
  Worker* worker = Current();
  const int64_t count = task.end - task.begin;
  const double work_ns = engine_->granularity().BodyNs(task.instances->kernel) * static_cast<double>(count);
  const auto all = static_cast<int64_t>(nodes_.size());
  if (all == 1 || count < all || (work_ns > 0 && work_ns < kWorthSpreadingNs * static_cast<double>(all)))
    return Push(worker, task);
  const int64_t cpus = nodes_.back()->first + nodes_.back()->count;
  Task own;
  for (size_t number = 0; number < nodes_.size(); ++number) {
    Node& node = *nodes_[number];
    const Task part{task.instances, task.begin + count * node.first / cpus,
                    task.begin + count * (node.first + node.count) / cpus};
    if (part.begin == part.end) continue;
    if (worker != nullptr && worker->number >= 0 && worker->node == number) {
      own = part;
    } else {
      Inject(node, part);
    }
  }
  if (own.instances != nullptr) Push(worker, own);
  signal_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) > 0) FutexWake(signal_, INT_MAX);
}

/// Wakes a worker where that is worth what it costs. One that searches already will find the task.
void Workers::Offer(const Task& task) {
  // The order of the push before and this load is kept by the membarrier of the one that parks.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_relaxed) == 0 || searching_.load(std::memory_order_relaxed) != 0) return;
  const double each = engine_->granularity().BodyNs(task.instances->kernel);
  const Worker* worker = Current();
  const bool cheap = each > 0 && each * static_cast<double>(task.end - task.begin) < kWorthWakingNs;
  if (cheap && worker != nullptr && worker->deque.Size() < kEvenIfCheap) return;
  Wake();
}

void Workers::Wake() {
  signal_.fetch_add(1, std::memory_order_seq_cst);
  if (sleeping_.load(std::memory_order_seq_cst) > 0) FutexWake(signal_, 1);
}

void Workers::Notify(RangeContext& context, const Task& task) {
  auto* worker = static_cast<Worker*>(context.worker);
  if (worker == nullptr || worker->number < 0) return Push(nullptr, task);
  if (engine_->granularity().RunsBehind(task.instances->kernel)) {
    worker->behind.push_back(task);
    return;
  }
  Task& gathered = worker->gathered;
  if (gathered.instances == task.instances && gathered.end == task.begin) {
    gathered.end = task.end;
  } else {
    FlushGathered(worker);
    gathered = task;
  }
  const bool hungry =
      (sleeping_.load(std::memory_order_relaxed) > 0 || searching_.load(std::memory_order_relaxed) > 0) &&
      worker->deque.Size() == 0;
  if (gathered.end - gathered.begin >= kMostGathered || hungry || (perturb_ != 0 && Random(worker) % 4 == 0))
    FlushGathered(worker);
}

void Workers::FlushGathered(Worker* worker) {
  if (worker->gathered.instances == nullptr) return;
  const Task task = worker->gathered;
  worker->gathered = {};
  Push(worker, task);
}

// ---- running

/// The ranges of a task, one after the other: what they have in common is looked up once.
class Workers::Ranges {
 public:
  Ranges(Workers& pool, Worker* worker, Instances* instances, bool alternate)
      : pool_(pool),
        worker_(worker),
        instances_(instances),
        kernel_(pool.engine_->chosen(instances->kernel)),
        cell_(worker->cells[static_cast<size_t>(instances->kernel)]),
        until_sample_(cell_.until_sample) {
    if (!instances->targets_open.load(std::memory_order_acquire)) [[unlikely]]
      pool.engine_->OpenTargets(instances);
    context_.engine = pool.engine_;
    context_.worker = worker;
    context_.instances = instances;
    context_.alternate = alternate;
  }

  Ranges(const Ranges&) = delete;
  Ranges& operator=(const Ranges&) = delete;
  ~Ranges() { cell_.until_sample = until_sample_; }

  /// Instances of the next range.
  int64_t Next(int64_t grain) const {
    return until_sample_ <= grain && grain < kTimedTogether && IsBrief(cell_) ? kTimedTogether : grain;
  }

  /// The worker has done something else.
  void Interrupt() { untimed_since_ = 0; }

  /// @return instances whose result counts
  int64_t Run(int64_t begin, int64_t end) {
    context_.begin = begin;
    context_.end = end;
    context_.executed = 0;
    Running* running = worker_->running.get();
    if (running != nullptr) [[unlikely]]
      context_.progress = running->Begin(instances_->kernel, *instances_, begin);
    if ((until_sample_ -= end - begin) <= 0 && IsTimed(end - begin)) [[unlikely]] {
      RunTimed();
    } else {
      kernel_.run(kernel_.body, context_);
    }
    if (running != nullptr) [[unlikely]]
      running->End();
    cell_.instances.Add(context_.executed);
    cell_.ranges.Add(1);
    if (context_.stored_by_out) AddStored();
    return context_.executed;
  }

 private:
  bool IsTimed(int64_t instances) {
    const bool timing = pool_.timing.load(std::memory_order_relaxed);
    until_sample_ = timing ? SampleAfter(&cell_, instances) : kLookForTiming;
    return timing;
  }

  void RunTimed() {
    context_.timed = true;
    context_.body_ticks = 0;
    context_.body_pieces = 0;
    const uint64_t start = Ticks();
    const Untimed untimed = untimed_since_ == 0 ? Untimed{} : UntimedUntil(start);
    kernel_.run(kernel_.body, context_);
    const uint64_t ticks = Ticks() - start;
    context_.timed = false;
    NoteRange(instances_, ticks);
    AddSample(&cell_, pool_.rate_, {context_.executed, ticks, context_.body_ticks, context_.body_pieces}, untimed);
    pool_.engine_->granularity().Sampled(instances_->kernel, &cell_, pool_.Count(), pool_.engine_->NowNs());
    // What seemed not worth waking somebody for may have become so.
    if (pool_.rate_.Ns(static_cast<double>(ticks)) > kWorthWakingNs && worker_->deque.Size() > 0)
      pool_.Offer({instances_, 0, INT_MAX});
    // Run() adds the timed range itself to the counts when this returns.
    ranges_before_ = cell_.ranges.get() + 1;
    instances_before_ = cell_.instances.get() + context_.executed;
    untimed_since_ = Ticks();
  }

  Untimed UntimedUntil(uint64_t now) const {
    return {now - untimed_since_, cell_.ranges.get() - ranges_before_, cell_.instances.get() - instances_before_};
  }

  void AddStored() {
    for (size_t store = 0; store < cell_.stored_bytes.size(); ++store)
      cell_.stored_bytes[store].Add(std::exchange(context_.stored_bytes[store], 0));
    context_.stored_by_out = false;
  }

  Workers& pool_;
  Worker* worker_;
  Instances* instances_;
  const Chosen& kernel_;
  Meter& cell_;
  int64_t until_sample_;        ///< instances
  uint64_t untimed_since_ = 0;  ///< ticks; 0: the worker did something else
  int64_t ranges_before_ = 0;   ///< of the cell, at that time
  int64_t instances_before_ = 0;
  RangeContext context_;
};

int64_t Workers::RunRange(Worker* worker, const Task& task, bool alternate) {
  return Ranges(*this, worker, task.instances, alternate).Run(task.begin, task.end);
}

void Workers::Account(const Task& task, int64_t results) {
  if (task.instances->decided != nullptr) {
    engine_->DoneWithDeadline(task.instances, results, task.end - task.begin);
  } else {
    engine_->Done(task.instances, task.end - task.begin);
  }
}

void Workers::Execute(Worker* worker, Task task) {
  if (engine_->stopping()) return;
  const Granularity& granularity = engine_->granularity();
  Task done{task.instances, task.begin, task.begin};
  Ranges ranges(*this, worker, task.instances, false);
  int64_t results = 0;
  while (task.begin < task.end && !engine_->stopping()) {
    int64_t grain = granularity.Grain(task.instances->kernel);
    if (perturb_ != 0) grain = 1 + static_cast<int64_t>(Random(worker) % static_cast<uint64_t>(2 * grain));
    const int64_t rest = task.end - task.begin;
    if (rest > grain && worker->deque.Size() <= 0 && Count() > 1) {
      const int64_t half = (rest / grain / 2) * grain;
      if (half > 0 && worker->deque.Push({task.instances, task.end - half, task.end})) {
        task.end -= half;
        Offer({task.instances, task.end, task.end + half});
      }
    }
    const int64_t piece = std::min(ranges.Next(grain), task.end - task.begin);
    results += ranges.Run(task.begin, task.begin + piece);
    task.begin += piece;
    if (!worker->behind.empty()) {
      RunBehind(worker);
      ranges.Interrupt();
    }
    if (perturb_ != 0 && Random(worker) % 8 == 0) ::sched_yield();
  }
  done.end = task.begin;
  FlushGathered(worker);
  if (!engine_->stopping()) Account(done, results);
}

/// Newest first, so that the elements of one range go through the whole chain while they are in the cache.
void Workers::RunBehind(Worker* worker) {
  while (!worker->behind.empty() && !engine_->stopping()) {
    const Task task = worker->behind.back();
    worker->behind.pop_back();
    Account(task, RunRange(worker, task, false));
  }
  worker->behind.clear();
}

// ---- finding work

bool Workers::AnyWork() const {
  for (const auto& node : nodes_) {
    if (node->tasks_count.load(std::memory_order_acquire) > 0) return true;
  }
  const int started = started_.load(std::memory_order_acquire);
  for (int number = 0; number < started; ++number) {
    if (workers_[static_cast<size_t>(number)].load(std::memory_order_acquire)->deque.Size() > 0) return true;
  }
  return false;
}

bool Workers::TakeFrom(size_t number, Worker* worker, Task* task) {
  Node& node = *nodes_[number];
  if (node.tasks_count.load(std::memory_order_acquire) > 0) {
    const MutexLock lock(node.mutex);
    if (!node.tasks.empty()) {
      *task = node.tasks.back();
      node.tasks.pop_back();
      node.tasks_count.store(static_cast<int64_t>(node.tasks.size()), std::memory_order_release);
      return true;
    }
  }
  const auto started = static_cast<uint64_t>(started_.load(std::memory_order_acquire));
  const uint64_t first = Random(worker) % started;
  for (uint64_t i = 0; i < started; ++i) {
    Worker* victim = workers_[(first + i) % started].load(std::memory_order_acquire);
    if (victim != worker && victim->node == number && victim->deque.Steal(task)) return true;
  }
  return false;
}

/// @param also_far of other nodes, too
bool Workers::Take(Worker* worker, Task* task, bool also_far) {
  if (TakeFrom(worker->node, worker, task)) return true;
  for (size_t i = 1; also_far && i < nodes_.size(); ++i) {
    if (TakeFrom((worker->node + i) % nodes_.size(), worker, task)) return true;
  }
  return false;
}

bool Workers::Next(Worker* worker, Task* task) {
  if (perturb_ != 0 && Random(worker) % 3 == 0) {
    // The oldest instead of the newest, or another worker's.
    if (Random(worker) % 2 == 0 ? worker->deque.Steal(task) : Take(worker, task, true)) return true;
  }
  return worker->deque.Pop(task) || Take(worker, task, false) || Search(worker, task);
}

bool Workers::Search(Worker* worker, Task* task) {
  worker->busy.End();
  searching_.fetch_add(1, std::memory_order_seq_cst);
  bool found = false;
  for (int round = 0; round < kSearches && !found && !ending_.load(std::memory_order_relaxed); ++round) {
    Pause();
    // Those that are near come first, for as long as a wake-up takes.
    found = Take(worker, task, round >= kSearches / 2);
  }
  const bool last = searching_.fetch_sub(1, std::memory_order_seq_cst) == 1;
  // Those that pushed meanwhile counted on this search.
  if (found && last && sleeping_.load(std::memory_order_relaxed) > 0 && AnyWork()) Wake();
  return found;
}

void Workers::Park(Worker* worker) {
  static const bool barrier = RegisterMembarrier();
  const uint32_t seen = signal_.load(std::memory_order_seq_cst);
  sleeping_.fetch_add(1, std::memory_order_seq_cst);
  // After this, a thread that has not seen this worker sleep has made its push visible.
  if (barrier) ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  const bool stay = !AnyWork() && !ending_.load(std::memory_order_seq_cst) && worker->number < Count();
  if (stay) Sleep(signal_, seen, barrier ? 0 : MonotonicNow() + kLookAgainNs);
  sleeping_.fetch_sub(1, std::memory_order_seq_cst);
}

/// Workers above the wanted number sleep until there are to be more of them; others take what is left in their deques.
void Workers::ParkRetired(Worker* worker) {
  if (worker->deque.Size() > 0) Wake();
  while (worker->number >= Count() && !ending_.load(std::memory_order_seq_cst)) {
    const uint32_t seen = retired_signal_.load(std::memory_order_seq_cst);
    if (worker->number < Count() || ending_.load(std::memory_order_seq_cst)) return;
    Sleep(retired_signal_, seen, 0);
  }
}

void Workers::Loop(Worker* worker) {
  t_worker = worker;
  while (!ending_.load(std::memory_order_acquire)) {
    if (worker->number >= Count()) {
      worker->busy.End();
      ParkRetired(worker);
      continue;
    }
    Task task;
    if (Next(worker, &task)) {
      worker->busy.Begin();
      Execute(worker, task);
    } else {
      Park(worker);
    }
  }
  worker->busy.End();
}

std::vector<const Running*> Workers::Cells() const {
  std::vector<const Running*> cells = {outside_.running.get()};
  const int started = started_.load(std::memory_order_acquire);
  for (int number = 0; number < started; ++number)
    cells.push_back(workers_[static_cast<size_t>(number)].load(std::memory_order_acquire)->running.get());
  return cells;
}

double Workers::BusyNs() const {
  double ticks = 0;
  const int started = started_.load(std::memory_order_acquire);
  for (int number = 0; number < started; ++number)
    ticks +=
        static_cast<double>(workers_[static_cast<size_t>(number)].load(std::memory_order_acquire)->busy.UntilNow());
  return Ns(ticks);
}

void Workers::AddCosts(int kernel, KernelCost* cost) const {
  const int started = started_.load(std::memory_order_acquire);
  for (int number = 0; number < started; ++number) {
    AddTo(cost,
          workers_[static_cast<size_t>(number)].load(std::memory_order_acquire)->cells[static_cast<size_t>(kernel)],
          rate_);
  }
  AddTo(cost, outside_.cells[static_cast<size_t>(kernel)], rate_);
}

}  // namespace attune::flow::detail
