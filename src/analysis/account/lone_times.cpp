#include "analysis/account/lone_times.h"

#include <algorithm>
#include <utility>

#include "analysis/account/account.h"
#include "base/saturating.h"
#include "model/rows.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::TimeState;

/// Drops the shorter ones when there are too many.
template <class Item>
void Bound(std::vector<Item>& items, int64_t& least_ns) {
  while (items.size() > LoneTimesOperator::kMaxKept) {
    least_ns = std::max<int64_t>(50'000, least_ns * 2);
    std::erase_if(items, [least_ns](const Item& item) { return item.LengthNs() < least_ns; });
  }
}

/// Time from a thread's start or a wait's end until its end or the next wait.
struct Change {
  int64_t t_ns = 0;
  int active = 0;  ///< 1: the thread can run from now on, -1: not any more
  ElementId thread = 0;
};

/// Activity of threads that take part, without the waits at hooks.
std::vector<Change> ChangesOf(const std::vector<ThreadLife>& lives, const ThreadTimes& times,
                              const std::vector<LongWait>& waits) {
  std::unordered_map<ElementId, model::TimeRange> known;
  std::vector<Change> changes;
  for (const ThreadLife& life : lives) {
    const auto found = times.by_thread.find(life.thread);
    if (life.thread == 0 || life.LengthNs() <= 0) continue;
    if (found != times.by_thread.end() &&
        found->second.run_ns + found->second.queue_ns < kLeastActive * found->second.life_ns)
      continue;
    known[life.thread] = {life.start_ns, life.end_ns};
    changes.push_back({life.start_ns, 1, life.thread});
    changes.push_back({life.end_ns, -1, life.thread});
  }
  for (const LongWait& wait : waits) {
    const auto life = known.find(wait.thread);
    if (life == known.end()) continue;
    const int64_t start_ns = std::max(wait.start_ns, life->second.t0_ns);
    const int64_t end_ns = std::min(wait.end_ns, life->second.t1_ns);
    if (start_ns >= end_ns) continue;
    changes.push_back({start_ns, -1, wait.thread});
    changes.push_back({end_ns, 1, wait.thread});
  }
  // Starts come first within one moment: a thread that ends with its wait never makes the count negative.
  std::ranges::sort(changes, [](const Change& a, const Change& b) {
    return a.t_ns != b.t_ns ? a.t_ns < b.t_ns : a.active > b.active;
  });
  return changes;
}

void FromChanges(const std::vector<Change>& changes, LoneTimes& result) {
  constexpr int64_t kLeastNs = 50'000;
  int64_t active = 0;
  int64_t since_ns = 0;
  ElementId sum = 0;  // sum of the active threads' ids; with one active thread, its id
  for (const Change& change : changes) {
    const int64_t ns = change.t_ns - since_ns;
    if (active == 1 && ns >= kLeastNs)
      result.stretches.push_back({sum, since_ns, change.t_ns, change.active > 0 ? change.thread : 0});
    if (active >= 2) {
      AddTo(result.parallel_ns, ns);
      result.active_ns += static_cast<double>(ns) * static_cast<double>(active);
    }
    active += change.active;
    sum = change.active > 0 ? sum + change.thread : sum - change.thread;
    since_ns = change.t_ns;
  }
}

}  // namespace

void LoneTimesOperator::AddSample(const model::CpuSample& row) {
  if ((samples_in_all_++ & ((uint64_t{1} << sample_shift_) - 1)) != 0) return;
  samples_.push_back({SaneTime(row.t_ns), row.thread, row.stack, row.weight_ns << sample_shift_});
  if (samples_.size() < kMaxKept) return;
  for (size_t i = 0; 2 * i < samples_.size(); ++i) {
    samples_[i] = samples_[2 * i];
    samples_[i].weight_ns *= 2;
  }
  samples_.resize(samples_.size() / 2);
  ++sample_shift_;
}

void LoneTimesOperator::AddRows(const model::Batch& batch) {
  if (batch.table == model::CpuSample::kTable) {
    for (const model::CpuSample& row : model::RowsFrom<model::CpuSample>(batch)) {
      if (row.weight_ns > 0 && row.weight_ns < INT64_MAX >> 32) AddSample(row);
    }
    return;
  }
  for (const model::StateTime& row : model::RowsFrom<model::StateTime>(batch)) {
    has_states_ = true;
    AddTo(alone_ns_, row.alone_ns);
    if (row.state == TimeState::kNoThread) AddTo(no_thread_ns_, row.ns);
    if (row.state >= TimeState::kRunning && row.state <= TimeState::kQueuedWake) {
      AddTo(activity_[row.element].active_ns, row.ns);
      AddTo(activity_[row.element].alone_ns, row.alone_ns);
    } else if (row.waker != 0 && row.waker != row.element) {
      AddTo(activity_[row.waker].woke_ns, row.ns);
    }
    const bool is_stretch = row.state == TimeState::kRunning && row.ns == 0 && row.alone_ns > 0;
    if (!is_stretch || row.alone_ns < least_stretch_ns_) continue;
    const int64_t end_ns = SaneTime(row.t_ns);
    stretches_.push_back({row.element, end_ns - SaneTime(row.alone_ns), end_ns, row.waker});
    Bound(stretches_, least_stretch_ns_);
  }
}

void LoneTimesOperator::AddEvents(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (block.kind[i] != static_cast<int64_t>(wire::EventKind::kWait)) continue;
    if (block.b[i] <= 0 || block.b[i] > static_cast<int64_t>(wire::kLastSyncKind)) continue;
    const bool is_start = block.b[i] == static_cast<int64_t>(wire::SyncKind::kCreate) && least_wait_ns_ <= kLeastWaitNs;
    if (block.a[i] < least_wait_ns_ && !is_start) continue;
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    waits_.push_back({static_cast<ElementId>(block.thread[i]), end_ns - SaneTime(block.a[i]), end_ns,
                      static_cast<wire::SyncKind>(block.b[i]), static_cast<ElementId>(block.site[i])});
    Bound(waits_, least_wait_ns_);
  }
}

LoneTimes LoneTimesOperator::Snapshot(const model::Metadata& meta, const std::vector<ThreadLife>& lives,
                                      const ThreadTimes& times) const {
  LoneTimes result{.is_exact = has_states_ && IsWhole(meta), .waits = waits_, .samples = samples_};
  std::ranges::sort(result.waits, {}, &LongWait::start_ns);
  std::ranges::stable_sort(result.samples, {}, &TimedSample::t_ns);
  if (result.is_exact) {
    FromStates(lives, result);
  } else {
    FromChanges(ChangesOf(lives, times, result.waits), result);
  }
  return result;
}

void LoneTimesOperator::FromStates(const std::vector<ThreadLife>& lives, LoneTimes& result) const {
  result.stretches = stretches_;
  std::ranges::sort(result.stretches, {}, &LoneStretch::start_ns);
  model::TimeRange life{INT64_MAX, INT64_MIN};
  for (const ThreadLife& thread : lives) {
    if (thread.LengthNs() > 0) life = {std::min(life.t0_ns, thread.start_ns), std::max(life.t1_ns, thread.end_ns)};
  }
  if (life.t1_ns <= life.t0_ns) return;
  result.parallel_ns = std::max<int64_t>(0, life.t1_ns - life.t0_ns - alone_ns_ - no_thread_ns_);
  result.activity = activity_;
  for (const auto& [thread, activity] : activity_) {
    result.active_ns += std::max(0.0, static_cast<double>(activity.active_ns) - static_cast<double>(activity.alone_ns));
  }
}

}  // namespace attune::analysis
