#include "analysis/waits/blame.h"

#include <algorithm>
#include <numeric>
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

/// Events are put into order a part of the recording after the other.
constexpr int64_t kParts = 256;
constexpr int64_t kShortestPartNs = 100'000'000;

/// As wire::EventKind::kHandOver says; wire::kShortWaitTicks are 3 to 5 us of a TSC.
constexpr int64_t kHandOverStandsForNs = 5'000;

bool IsWokenUp(int64_t kind) {
  return kind == static_cast<int64_t>(SyncKind::kCondition) || kind == static_cast<int64_t>(SyncKind::kSemaphore);
}

/// Columns of events, to be put into order.
struct Rows {
  std::vector<int64_t> t_ns, thread, kind, object, site, a, b;

  void Add(const model::EventBlock& block, size_t row) {
    t_ns.push_back(block.t_ns[row]);
    thread.push_back(block.thread[row]);
    kind.push_back(block.kind[row]);
    object.push_back(block.object[row]);
    site.push_back(block.site[row]);
    a.push_back(block.a[row]);
    b.push_back(block.b[row]);
  }
  model::EventBlock Block() const { return {t_ns, thread, kind, object, site, a, b}; }
};

}  // namespace

std::vector<BlameCounter::Part>& BlameCounter::PartsOf(Object& object, ElementId waiter) {
  std::vector<Part>& parts = object.waiters[waiter];
  parts.resize(object.holders.size());
  ++object.waits;
  return parts;
}

void BlameCounter::Divide(Object& object, int64_t t0_ns, int64_t t1_ns, ElementId waiter) {
  auto& all = object.hand_overs;
  auto at = std::upper_bound(all.begin(), all.end(), t0_ns,
                             [](int64_t t_ns, const HandOver& each) { return t_ns < each.t_ns; });
  std::vector<Part>& parts = PartsOf(object, waiter);
  Part* last = nullptr;
  for (; at != all.end() && at->t_ns <= t1_ns; ++at) {
    if (at->thread == waiter) continue;  // of the same moment: its own, before or after
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

void BlameCounter::Add(const model::EventBlock& block, size_t row) {
  const auto object_id = static_cast<ElementId>(block.object[row]);
  const int64_t t_ns = block.t_ns[row];
  const auto thread = static_cast<ElementId>(block.thread[row]);
  if (block.kind[row] == static_cast<int64_t>(EventKind::kHandOver)) {
    Object& object = objects_[object_id];
    const Holder holder{static_cast<ElementId>(block.site[row]), thread};
    const auto [number, is_new] = object.numbers.try_emplace(holder, static_cast<uint32_t>(object.holders.size()));
    if (is_new) object.holders.push_back(holder);
    if (object.hand_overs.size() == kMaxHandOvers) object.hand_overs.pop_front();
    object.hand_overs.push_back({t_ns, thread, number->second});
    return;
  }
  if (!wire::IsWait(block.kind[row])) return;
  const auto found = objects_.find(object_id);
  int64_t t0_ns = 0;
  if (found == objects_.end() || __builtin_sub_overflow(t_ns, block.a[row], &t0_ns) || t0_ns > t_ns) return;
  if (IsLock(static_cast<SyncKind>(block.b[row]))) Divide(found->second, t0_ns, t_ns, thread);
  if (IsWokenUp(block.b[row])) GiveToLast(found->second, t0_ns, t0_ns, t_ns, thread);
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

Status VisitWaits(model::Source& source, const std::function<void(const model::EventBlock& block, size_t row)>& visit) {
  const model::TimeRange extent = source.Extent();
  int64_t length_ns = 0;
  if (__builtin_sub_overflow(extent.t1_ns, extent.t0_ns, &length_ns) || length_ns <= 0) return {};
  const int64_t part_ns = std::max(kShortestPartNs, length_ns / kParts + 1);
  for (int64_t t0_ns = extent.t0_ns; t0_ns < extent.t1_ns;) {
    const int64_t t1_ns = extent.t1_ns - t0_ns > part_ns ? t0_ns + part_ns : extent.t1_ns;
    Rows rows;
    ATTUNE_CHECK_OK(source.ReadEvents({t0_ns, t1_ns}, [&](const model::EventBlock& block) {
      for (size_t row = 0; row < block.t_ns.size(); ++row) {
        const int64_t kind = block.kind[row];
        if (wire::IsWait(kind) || kind == static_cast<int64_t>(EventKind::kHandOver)) rows.Add(block, row);
      }
      return true;
    }));
    std::vector<uint32_t> order(rows.t_ns.size());
    std::iota(order.begin(), order.end(), 0u);
    // A release and the end of the wait for it may be of one nanosecond: the release comes first.
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(rows.t_ns[a], -rows.kind[a]) < std::pair(rows.t_ns[b], -rows.kind[b]);
    });
    const model::EventBlock block = rows.Block();
    for (const uint32_t row : order) visit(block, row);
    t0_ns = t1_ns;
  }
  return {};
}

Result<BlameByObject> BlameHolders(model::Source& source) {
  BlameCounter counter;
  ATTUNE_CHECK_OK(VisitWaits(source, [&](const model::EventBlock& block, size_t row) { counter.Add(block, row); }));
  return counter.Blames();
}

}  // namespace attune::analysis
