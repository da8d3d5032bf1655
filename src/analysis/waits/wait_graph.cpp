#include "analysis/waits/wait_graph.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "analysis/waits/barrier_rounds.h"
#include "analysis/waits/sync_sums.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::EventKind;
using wire::SyncKind;

bool IsHandedOver(SyncKind kind) {
  return IsLock(kind) || kind == SyncKind::kCondition || kind == SyncKind::kSemaphore || kind == SyncKind::kFutex ||
         kind == SyncKind::kFuture || kind == SyncKind::kIdle;
}

/// The process with most thread time of those with several threads. 0: there is none.
ElementId ChooseProcess(const std::vector<ThreadLife>& lives) {
  std::map<ElementId, std::pair<int64_t, int>> sums;
  for (const ThreadLife& life : lives) {
    auto& [ns, threads] = sums[life.process];
    AddTo(ns, life.LengthNs());
    ++threads;
  }
  ElementId best = 0;
  int64_t most_ns = 0;
  for (const auto& [process, sum] : sums) {
    if (sum.second < 2 || sum.first <= most_ns) continue;
    best = process;
    most_ns = sum.first;
  }
  return best;
}

/// A damaged file may say anything: what is reckoned with times and differences of them shall not overflow.
}  // namespace

WaitGraphBuilder::WaitGraphBuilder(const std::vector<ThreadLife>& lives, size_t waits) {
  graph_.process = ChooseProcess(lives);
  if (graph_.process == 0) return;
  for (const ThreadLife& life : lives) {
    if (life.process == graph_.process && life.thread != 0 && IsGraphTime(life.start_ns) && IsGraphTime(life.end_ns))
      graph_.threads.push_back(life);
  }
  std::ranges::stable_sort(graph_.threads, {}, &ThreadLife::start_ns);
  for (uint32_t i = 0; i < graph_.threads.size(); ++i) index_[graph_.threads[i].thread] = i;
  graph_.start_ns = graph_.threads.empty() ? 0 : graph_.threads.front().start_ns;
  for (const ThreadLife& life : graph_.threads) graph_.end_ns = std::max(graph_.end_ns, life.end_ns);
  graph_.waits.reserve(std::min(waits, kMaxGraphWaits));
}

void WaitGraphBuilder::AddEvents(const model::EventBlock& block) {
  for (size_t row = 0; row < block.t_ns.size() && !is_too_large_; ++row) {
    const int64_t kind = block.kind[row];
    if (wire::IsWait(kind) || kind == static_cast<int64_t>(EventKind::kHandOver)) AddRow(block, row);
  }
}

const uint32_t* WaitGraphBuilder::IndexOf(ElementId thread) {
  if (thread == last_thread_) return last_index_;
  const auto found = index_.find(thread);
  last_thread_ = thread;
  last_index_ = found == index_.end() ? nullptr : &found->second;
  return last_index_;
}

void WaitGraphBuilder::AddRow(const model::EventBlock& block, size_t row) {
  const uint32_t* thread = IndexOf(static_cast<ElementId>(block.thread[row]));
  if (thread == nullptr || !IsGraphTime(block.t_ns[row])) return;
  const auto object = static_cast<ElementId>(block.object[row]);
  if (block.kind[row] == static_cast<int64_t>(EventKind::kHandOver)) {
    hand_overs_[object].push_back({block.t_ns[row], *thread});
    return;
  }
  GraphWait wait{.end_ns = block.t_ns[row],
                 .thread = *thread,
                 .object = object,
                 .site = static_cast<ElementId>(block.site[row]),
                 .kind = static_cast<SyncKind>(block.b[row])};
  if (block.a[row] < 0 || __builtin_sub_overflow(wait.end_ns, block.a[row], &wait.start_ns)) return;
  if (!IsGraphTime(wait.start_ns)) return;
  if (wire::IsCall(wait.kind)) return;  // a call that the thread is at: no other one ends it
  if (graph_.waits.size() < kMaxGraphWaits) return graph_.waits.push_back(wait);
  is_too_large_ = true;
  graph_ = {};
  hand_overs_ = {};
}

WaitGraph WaitGraphBuilder::Finish() {
  if (is_too_large_ || graph_.threads.size() < 2) return {};
  std::ranges::stable_sort(graph_.waits, {}, &GraphWait::end_ns);
  for (auto& [object, moments] : hand_overs_) std::ranges::stable_sort(moments, {}, &Moment::t_ns);
  FindRounds();
  SortEnds();
  for (GraphWait& wait : graph_.waits) {
    if (wait.kind == SyncKind::kJoin) {
      FindEnded(wait);
    } else if (IsHandedOver(wait.kind)) {
      FindReleaser(wait);
    }
  }
  for (uint32_t i = 0; i < graph_.waits.size(); ++i) {
    if (graph_.waits[i].IsKnown()) graph_.releases.push_back(i);
  }
  std::ranges::stable_sort(graph_.releases, {}, [this](uint32_t i) { return graph_.waits[i].released_ns; });
  return std::move(graph_);
}

void WaitGraphBuilder::Known(GraphWait& wait, uint32_t thread, int64_t t_ns) {
  if (thread == wait.thread) return;
  wait.releaser = static_cast<int32_t>(thread);
  wait.released_ns = t_ns;
}

void WaitGraphBuilder::FindReleaser(GraphWait& wait) const {
  const auto found = hand_overs_.find(wait.object);
  if (found == hand_overs_.end()) return;
  auto at = std::ranges::upper_bound(found->second, wait.end_ns, {}, &Moment::t_ns);
  for (; at != found->second.begin() && std::prev(at)->t_ns >= wait.start_ns; --at) {
    const Moment& last = *std::prev(at);
    if (last.thread != wait.thread) return Known(wait, last.thread, last.t_ns);
  }
}

void WaitGraphBuilder::FindRounds() {
  std::unordered_map<ElementId, std::vector<uint32_t>> by_barrier;
  for (uint32_t i = 0; i < graph_.waits.size(); ++i) {
    if (IsBarrier(graph_.waits[i].kind)) by_barrier[graph_.waits[i].object].push_back(i);
  }
  const auto interval_of = [this](uint32_t i) { return std::pair(graph_.waits[i].start_ns, graph_.waits[i].end_ns); };
  for (auto& [barrier, waits] : by_barrier) {
    for (const std::span<uint32_t> round : DivideIntoRounds(std::span(waits), interval_of))
      graph_.rounds.emplace_back(round.begin(), round.end());
  }
  for (size_t round = 0; round < graph_.rounds.size(); ++round) {
    const GraphWait last = graph_.waits[graph_.rounds[round].back()];
    for (const uint32_t i : graph_.rounds[round]) {
      graph_.waits[i].round = static_cast<int32_t>(round);
      Known(graph_.waits[i], last.thread, last.start_ns);
    }
  }
}

void WaitGraphBuilder::SortEnds() {
  for (uint32_t i = 0; i < graph_.threads.size(); ++i) ends_.push_back({graph_.threads[i].end_ns, i});
  std::ranges::stable_sort(ends_, {}, &Moment::t_ns);
}

void WaitGraphBuilder::FindEnded(GraphWait& wait) const {
  // The kernel says that a thread has ended a moment after who joins it has seen it.
  constexpr int64_t kLaterNs = 1'000'000;
  auto at = std::ranges::upper_bound(ends_, wait.end_ns + kLaterNs, {}, &Moment::t_ns);
  for (; at != ends_.begin() && std::prev(at)->t_ns >= wait.start_ns; --at) {
    const Moment& last = *std::prev(at);
    if (last.thread != wait.thread) return Known(wait, last.thread, std::min(last.t_ns, wait.end_ns));
  }
}

}  // namespace attune::analysis
