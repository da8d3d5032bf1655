#include "analysis/waits/barrier_rounds.h"

#include <algorithm>
#include <set>
#include <span>

#include "analysis/waits/sync_sums.h"
#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis {
namespace {

using model::ElementId;

void AddRound(std::span<const BarrierWait> round, std::map<ElementId, LateThread>& late, BarrierRounds& rounds) {
  if (round.size() < 2) return;
  int64_t waited_ns = 0;
  for (const BarrierWait& wait : round) AddTo(waited_ns, wait.end_ns - wait.arrival_ns);
  const BarrierWait& last = round.back();  // they are sorted by arrival
  LateThread& thread = late[last.thread];
  thread.thread = last.thread;
  ++thread.rounds;
  AddTo(thread.caused_ns, waited_ns);
  AddTo(thread.by_site_ns[last.site], waited_ns);
  ++rounds.rounds;
  rounds.participants += static_cast<double>(round.size());
  AddTo(rounds.wait_ns, waited_ns);
}

}  // namespace

void BarrierWaits::Add(const model::EventBlock& block) {
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (block.kind[i] != static_cast<int64_t>(wire::EventKind::kWait) ||
        !IsBarrier(static_cast<wire::SyncKind>(block.b[i])))
      continue;
    if (kept_ == kMax) {
      ++left_out_;
      continue;
    }
    ++kept_;
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    waits_[static_cast<ElementId>(block.object[i])].push_back({end_ns - SaneTime(block.a[i]), end_ns,
                                                               static_cast<ElementId>(block.thread[i]),
                                                               static_cast<ElementId>(block.site[i])});
  }
}

BarrierRounds FindRounds(std::vector<std::vector<BarrierWait>> barriers) {
  BarrierRounds rounds;
  std::map<ElementId, LateThread> late;
  std::set<ElementId> threads;
  const auto interval_of = [](const BarrierWait& wait) { return std::pair(wait.arrival_ns, wait.end_ns); };
  for (std::vector<BarrierWait>& waits : barriers) {
    for (const std::span<BarrierWait> round : DivideIntoRounds(std::span(waits), interval_of))
      AddRound(round, late, rounds);
    int64_t last_end_ns = 0;
    for (const BarrierWait& wait : waits) {
      last_end_ns = std::max(last_end_ns, wait.end_ns);
      threads.insert(wait.thread);
    }
    if (!waits.empty()) AddTo(rounds.span_ns, last_end_ns - waits.front().arrival_ns);
  }
  rounds.threads = static_cast<int64_t>(threads.size());
  if (rounds.rounds > 0) rounds.participants /= static_cast<double>(rounds.rounds);
  for (auto& [id, thread] : late) rounds.late.push_back(std::move(thread));
  std::stable_sort(rounds.late.begin(), rounds.late.end(),
                   [](const auto& a, const auto& b) { return a.caused_ns > b.caused_ns; });
  return rounds;
}

}  // namespace attune::analysis
