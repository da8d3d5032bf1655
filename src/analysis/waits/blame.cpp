#include "analysis/waits/blame.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::EventKind;
using wire::SyncKind;

/// As wire::EventKind::kHandOver says; wire::kShortWaitTicks are 3 to 5 us of a TSC.
constexpr int64_t kHandOverStandsForNs = 5'000;

bool IsWokenUp(int64_t kind) {
  return kind == static_cast<int64_t>(SyncKind::kCondition) || kind == static_cast<int64_t>(SyncKind::kSemaphore) ||
         kind == static_cast<int64_t>(SyncKind::kFuture);
}

}  // namespace

std::vector<BlameCounter::Part>& BlameCounter::PartsOf(Object& object, ElementId waiter) {
  std::vector<Part>& parts = object.waiters[waiter];
  parts.resize(object.holders.size());
  ++object.waits;
  return parts;
}

void BlameCounter::Divide(Object& object, int64_t t0_ns, int64_t t1_ns, ElementId waiter) {
  auto& all = object.hand_overs;
  auto at = all.end();  // those behind the begin of a wait that ends now are few, and all are looked at anyway
  while (at != all.begin() && std::prev(at)->t_ns > t0_ns) --at;
  std::vector<Part>& parts = PartsOf(object, waiter);
  Part* last = nullptr;
  for (; at != all.end() && at->t_ns <= t1_ns; ++at) {
    if (at->thread == waiter) continue;  // its own hand-over of the same moment, before or after the wait
    last = &parts[at->holder];
    if (std::exchange(last->last_wait, object.waits) != object.waits) ++last->waits;
    AddTo(last->wait_ns, at->t_ns - t0_ns);
    t0_ns = at->t_ns;
  }
  if (last != nullptr) return AddTo(last->wait_ns, t1_ns - t0_ns);
  const int64_t since_ns = std::max(t0_ns, INT64_MIN + kHandOverStandsForNs) - kHandOverStandsForNs;
  GiveToLast(object, since_ns, t0_ns, t1_ns, waiter);
}

void BlameCounter::GiveToLast(Object& object, int64_t since_ns, int64_t t0_ns, int64_t t1_ns, ElementId waiter) {
  const auto& all = object.hand_overs;
  for (auto at = all.rbegin(); at != all.rend() && at->t_ns > since_ns; ++at) {
    if (at->thread == waiter || at->t_ns > t1_ns) continue;
    Part& part = PartsOf(object, waiter)[at->holder];
    ++part.waits;
    return AddTo(part.wait_ns, t1_ns - t0_ns);
  }
}

void BlameCounter::Add(const model::Event& event) {
  const int64_t t_ns = event.t_ns;
  if (event.kind == EventKind::kHandOver) {
    Object& object = objects_[event.object];
    const Holder holder{event.site, event.thread};
    const auto [number, is_new] = object.numbers.try_emplace(holder, static_cast<uint32_t>(object.holders.size()));
    if (is_new) object.holders.push_back(holder);
    if (object.hand_overs.size() == kMaxHandOvers) object.hand_overs.pop_front();
    object.hand_overs.push_back({t_ns, event.thread, number->second});
    return;
  }
  if (!wire::IsWait(static_cast<int64_t>(event.kind))) return;
  const auto found = objects_.find(event.object);
  int64_t t0_ns = 0;
  if (found == objects_.end() || __builtin_sub_overflow(t_ns, event.a, &t0_ns) || t0_ns > t_ns) return;
  if (IsLock(static_cast<SyncKind>(event.b))) Divide(found->second, t0_ns, t_ns, event.thread);
  if (IsWokenUp(event.b)) GiveToLast(found->second, t0_ns, t0_ns, t_ns, event.thread);
}

BlameByObject BlameCounter::Blames() const {
  BlameByObject result;
  for (const auto& [id, object] : objects_) {
    std::vector<Blame> blames;
    for (const auto& [waiter, parts] : object.waiters) {
      for (size_t i = 0; i < parts.size(); ++i) {
        const auto& [site, holder] = object.holders[i];
        if (parts[i].waits > 0) blames.push_back({site, holder, waiter, parts[i].waits, parts[i].wait_ns});
      }
    }
    std::sort(blames.begin(), blames.end(), [](const Blame& a, const Blame& b) {
      return std::tuple(-a.wait_ns, a.site, a.thread, a.waiter) < std::tuple(-b.wait_ns, b.site, b.thread, b.waiter);
    });
    if (!blames.empty()) result.emplace(id, std::move(blames));
  }
  return result;
}

Status VisitWaits(model::Source& source, const EventOrder::Visitor& visit) {
  EventOrder order;
  ATTUNE_CHECK_OK(source.ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
    order.Add(block);
    order.ReleaseMany(visit);
    return true;
  }));
  order.ReleaseAll(visit);
  return {};
}

Result<BlameByObject> BlameHolders(model::Source& source) {
  BlameCounter counter;
  ATTUNE_CHECK_OK(VisitWaits(source, [&](const model::Event& event) { counter.Add(event); }));
  return counter.Blames();
}

}  // namespace attune::analysis
