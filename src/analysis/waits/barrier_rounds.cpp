#include "analysis/waits/barrier_rounds.h"

#include <algorithm>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis {
namespace {

using model::ElementId;

/// A wait may be read so much later than those of its round.
constexpr int64_t kSettleNs = 2'000'000'000;

std::pair<int64_t, int64_t> IntervalOf(const BarrierWait& wait) { return {wait.arrival_ns, wait.end_ns}; }

}  // namespace

void BarrierWaits::AddEvents(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (block.kind[i] != static_cast<int64_t>(wire::EventKind::kWait) ||
        !IsBarrier(static_cast<wire::SyncKind>(block.b[i])))
      continue;
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    Add(static_cast<ElementId>(block.object[i]),
        {end_ns - SaneTime(block.a[i]), end_ns, static_cast<ElementId>(block.thread[i]),
         static_cast<ElementId>(block.site[i])});
  }
}

void BarrierWaits::Add(ElementId barrier_id, const BarrierWait& wait) {
  Barrier& barrier = barriers_[barrier_id];
  barrier.open.push_back(wait);
  if (barrier.open.size() >= barrier.many) Settle(barrier);
}

/// Adds up the rounds to which nobody comes any more.
void BarrierWaits::Settle(Barrier& barrier) {
  int64_t newest_ns = 0;
  for (const BarrierWait& wait : barrier.open) newest_ns = std::max(newest_ns, wait.end_ns);
  const auto rounds = DivideIntoRounds(std::span(barrier.open), IntervalOf);
  size_t settled = 0;
  for (const std::span<BarrierWait> round : rounds) {
    // The last one may go on, however old it is.
    if (settled + round.size() == barrier.open.size() || round.back().arrival_ns > newest_ns - kSettleNs) break;
    barrier.settled.Add(round);
    settled += round.size();
  }
  barrier.open.erase(barrier.open.begin(), barrier.open.begin() + static_cast<std::ptrdiff_t>(settled));
  barrier.many = std::max(size_t{1} << 12, barrier.open.size() * 2);
}

void BarrierWaits::Sums::Add(std::span<const BarrierWait> round) {  // sorted by arrival
  int64_t waited_ns = 0;
  first_ns = std::min(first_ns, round.front().arrival_ns);
  for (const BarrierWait& wait : round) {
    AddTo(waited_ns, wait.end_ns - wait.arrival_ns);
    last_ns = std::max(last_ns, wait.end_ns);
    threads.insert(wait.thread);
  }
  if (round.size() < 2) return;
  const BarrierWait& last = round.back();
  LateThread& thread = late[last.thread];
  thread.thread = last.thread;
  ++thread.rounds;
  AddTo(thread.caused_ns, waited_ns);
  AddTo(thread.by_site_ns[last.site], waited_ns);
  ++rounds;
  participants += static_cast<int64_t>(round.size());
  AddTo(wait_ns, waited_ns);
}

BarrierRounds BarrierWaits::RoundsAt(std::span<const ElementId> barriers) const {
  BarrierRounds rounds;
  std::map<ElementId, LateThread> late;
  std::set<ElementId> threads;
  int64_t participants = 0;
  for (const ElementId id : barriers) {
    const auto found = barriers_.find(id);
    if (found == barriers_.end()) continue;
    Sums sums = found->second.settled;
    std::vector<BarrierWait> open = found->second.open;
    for (const std::span<BarrierWait> round : DivideIntoRounds(std::span(open), IntervalOf)) sums.Add(round);
    rounds.rounds += sums.rounds;
    participants += sums.participants;
    AddTo(rounds.wait_ns, sums.wait_ns);
    if (sums.first_ns < sums.last_ns) AddTo(rounds.span_ns, sums.last_ns - sums.first_ns);
    threads.insert(sums.threads.begin(), sums.threads.end());
    for (const auto& [thread, more] : sums.late) {
      LateThread& sum = late[thread];
      sum.thread = thread;
      sum.rounds += more.rounds;
      AddTo(sum.caused_ns, more.caused_ns);
      for (const auto& [site, ns] : more.by_site_ns) AddTo(sum.by_site_ns[site], ns);
    }
  }
  rounds.threads = static_cast<int64_t>(threads.size());
  if (rounds.rounds > 0) rounds.participants = static_cast<double>(participants) / static_cast<double>(rounds.rounds);
  for (auto& [id, thread] : late) rounds.late.push_back(std::move(thread));
  std::stable_sort(rounds.late.begin(), rounds.late.end(),
                   [](const auto& a, const auto& b) { return a.caused_ns > b.caused_ns; });
  return rounds;
}

}  // namespace attune::analysis
