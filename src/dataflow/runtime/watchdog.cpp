#include "dataflow/runtime/watchdog.h"

#include <algorithm>
#include <chrono>

#include "dataflow/runtime/idle.h"
#include "dataflow/schedule/meter.h"

namespace attune::flow::detail {
namespace {

/// An instance is noticed a sixteenth of its limit late, but the watchdog wakes up at most a thousand times a second
/// and at least ten times.
int64_t PeriodOf(int64_t limit_ns) { return std::clamp<int64_t>(limit_ns / 16, 1'000'000, 100'000'000); }

}  // namespace

std::atomic<int64_t>* Running::Begin(int kernel, const KernelAge& instances, int64_t first) {
  kernel_.store(kernel, std::memory_order_relaxed);
  age_.store(instances.age, std::memory_order_relaxed);
  for (size_t v = 0; v < kMaxRank; ++v) {
    low_[v].store(instances.low[v], std::memory_order_relaxed);
    count_[v].store(instances.count[v], std::memory_order_relaxed);
  }
  instance_.store(first, std::memory_order_relaxed);
  ranges_.fetch_add(1, std::memory_order_release);
  return &instance_;
}

Running::Look Running::Now() const {
  const uint64_t range = ranges_.load(std::memory_order_acquire);
  if (range % 2 == 0) return {};
  return {range, instance_.load(std::memory_order_relaxed)};
}

InstanceId Running::Id() const {
  InstanceId id;
  id.kernel = kernel_.load(std::memory_order_acquire);
  id.age = age_.load(std::memory_order_acquire);
  int64_t rest = instance_.load(std::memory_order_acquire);
  // As range functions count: the last variable is the innermost one.
  for (size_t v = kMaxRank; v-- > 0;) {
    const int64_t count = std::max<int64_t>(1, v == 0 ? INT64_MAX : count_[v].load(std::memory_order_acquire));
    id.index[v] = low_[v].load(std::memory_order_acquire) + rest % count;
    rest /= count;
  }
  return id;
}

int Patience::Check(const std::vector<const Running*>& cells, int64_t now_ns) {
  if (last_ns_ >= 0) clock_ns_ += std::min(now_ns - last_ns_, 2 * period_ns_);
  last_ns_ = now_ns;
  seen_.resize(std::max(seen_.size(), cells.size()));
  int late = -1;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Running::Look look = cells[i] == nullptr ? Running::Look{} : cells[i]->Now();
    if (look.range == 0 || look != seen_[i].look) {
      seen_[i] = {look, clock_ns_};
    } else if (clock_ns_ - seen_[i].since_ns >= limit_ns_ &&
               (late < 0 || seen_[i].since_ns < seen_[static_cast<size_t>(late)].since_ns)) {
      late = static_cast<int>(i);
    }
  }
  return late;
}

Watchdog::Watchdog(int64_t limit_ns, std::function<std::vector<const Running*>()> cells,
                   std::function<void(const InstanceId&)> late)
    : limit_ns_(limit_ns),
      period_ns_(PeriodOf(limit_ns)),
      cells_(std::move(cells)),
      late_(std::move(late)),
      thread_([this] { Loop(); }) {}

Watchdog::~Watchdog() { Stop(); }

void Watchdog::Stop() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Watchdog::Loop() {
  Patience patience(limit_ns_, period_ns_);
  for (;;) {
    {
      MutexLock lock(mutex_);
      const Idle idle;
      if (!stop_) changed_.WaitFor(lock, std::chrono::nanoseconds(period_ns_));
      if (stop_) return;
    }
    const std::vector<const Running*> cells = cells_();
    const int late = patience.Check(cells, MonotonicNow());
    if (late < 0) continue;
    const Running& cell = *cells[static_cast<size_t>(late)];
    const Running::Look before = cell.Now();
    const InstanceId id = cell.Id();
    // It may just have ended; then what was read may be of two.
    if (before.range == 0 || cell.Now() != before) continue;
    late_(id);
    return;
  }
}

std::string DurationText(int64_t ns) {
  for (const auto& [unit, name] : {std::pair{int64_t{60'000'000'000}, " min"},
                                   {int64_t{1'000'000'000}, " s"},
                                   {int64_t{1'000'000}, " ms"},
                                   {int64_t{1'000}, " us"}}) {
    if (ns >= unit && ns % unit == 0) return std::to_string(ns / unit) + name;
  }
  return std::to_string(ns) + " ns";
}

}  // namespace attune::flow::detail
