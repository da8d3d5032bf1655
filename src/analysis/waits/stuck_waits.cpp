#include "analysis/waits/stuck_waits.h"

#include <algorithm>
#include <set>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::EventKind;
using wire::SyncKind;

/// Two times of the same begin of a wait: that of a long wait is known by another reading of the clock.
constexpr int64_t kSameBeginNs = 1'000'000;
/// A wait of a thread that died in it ends when the session notices.
constexpr int64_t kNoticedNs = 300'000'000;

}  // namespace

void StuckWaits::AddEvents(const model::EventBlock& block) {
  constexpr EventKinds kBegins{EventKind::kLongWait, EventKind::kLockOrder};
  if (waiting_ == 0 && std::ranges::none_of(block.kind, [kBegins](int64_t kind) { return kBegins.Has(kind); })) return;
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    const auto kind = static_cast<EventKind>(std::clamp<int64_t>(block.kind[i], 0, UINT8_MAX));
    const auto thread_id = static_cast<ElementId>(block.thread[i]);
    const int64_t t_ns = SaneTime(block.t_ns[i]);
    if (kind == EventKind::kLongWait) {
      Thread& thread = threads_[thread_id];
      thread.has_ended = false;
      SetWait(thread, {.thread = thread_id,
                       .object = static_cast<ElementId>(block.object[i]),
                       .site = static_cast<ElementId>(block.site[i]),
                       .kind = static_cast<SyncKind>(block.b[i] & ((1 << wire::kLongWaitOwnerBit) - 1)),
                       .since_ns = t_ns - SaneTime(block.a[i]),
                       .until_ns = t_ns,
                       .owner = static_cast<ElementId>(block.b[i] >> wire::kLongWaitOwnerBit),
                       .held = {}});
      continue;
    }
    if (kind == EventKind::kLockOrder) {
      Thread& thread = threads_[thread_id];
      if (thread.order_ns != t_ns) thread.held.clear();
      thread.order_ns = t_ns;
      thread.held[static_cast<ElementId>(block.a[i])] = static_cast<ElementId>(block.b[i]);
    }
    const auto found = threads_.find(thread_id);
    if (found == threads_.end() || found->second.wait.object == 0) continue;
    StuckWait& wait = found->second.wait;
    if (t_ns <= wait.since_ns) continue;  // told late
    const bool is_its_end = wire::IsWait(block.kind[i]) && static_cast<ElementId>(block.object[i]) == wait.object &&
                            std::abs(t_ns - SaneTime(block.a[i]) - wait.since_ns) <= kSameBeginNs;
    if (is_its_end) {
      found->second.has_ended = true;
      wait.until_ns = t_ns;
    } else {
      SetWait(found->second, {});
    }
  }
}

void StuckWaits::SetWait(Thread& thread, const StuckWait& wait) {
  waiting_ += (wait.object != 0 ? 1 : 0) - (thread.wait.object != 0 ? 1 : 0);
  thread.wait = wait;
}

std::vector<WaitCircle> StuckWaits::Circles(const std::vector<ThreadLife>& lives, int64_t now_ns) const {
  std::unordered_map<ElementId, StuckWait> stuck;
  for (const ThreadLife& life : lives) {
    const auto found = threads_.find(life.thread);
    if (found == threads_.end() || found->second.wait.object == 0) continue;
    const auto& [wait, has_ended, order_ns, held] = found->second;
    if (has_ended && wait.until_ns + kNoticedNs < life.end_ns) continue;  // it went on
    StuckWait& kept = stuck[life.thread] = wait;
    kept.until_ns = std::max(kept.until_ns, std::min(life.end_ns, now_ns));
    if (std::abs(order_ns - wait.since_ns) <= kSameBeginNs) kept.held = held;
  }
  std::vector<WaitCircle> circles;
  std::set<ElementId> done;
  for (const auto& [first, wait] : stuck) {
    std::vector<ElementId> path;
    ElementId at = first;
    while (stuck.contains(at) && !done.contains(at)) {
      done.insert(at);
      path.push_back(at);
      at = stuck.at(at).owner;
    }
    const auto begin = std::ranges::find(path, at);
    if (begin == path.end()) continue;
    WaitCircle circle;
    for (auto thread = begin; thread != path.end(); ++thread) circle.push_back(stuck.at(*thread));
    // The one that began to wait last closed the circle.
    std::ranges::rotate(circle, std::ranges::max_element(circle, {}, &StuckWait::since_ns));
    circles.push_back(std::move(circle));
  }
  return circles;
}

}  // namespace attune::analysis
