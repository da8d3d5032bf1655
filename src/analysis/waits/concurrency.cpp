#include "analysis/waits/concurrency.h"

#include <algorithm>
#include <utility>

#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

// An average in a bin: two members are not quite two where one starts.
constexpr double kSeveral = 1.9;

}  // namespace

void ConcurrencyOperator::Join() {
  cells_ = 0;
  for (auto& [id, thread] : threads_) {
    for (std::vector<float>* bins : {&thread.waiting, &thread.idling}) {
      TimeGrid::JoinPairs(*bins);
      cells_ += bins->size();
    }
  }
}

void ConcurrencyOperator::AddEvents(const model::EventBlock& block) {
  Cell last;  // mostly, the next wait lies in it
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (!wire::IsWait(block.kind[i]) || wire::IsCall(static_cast<SyncKind>(block.b[i]))) continue;
    const auto thread = static_cast<ElementId>(block.thread[i]);
    const bool is_idling = IsIdling(static_cast<SyncKind>(block.b[i]));
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    const int64_t start_ns = end_ns - SaneTime(block.a[i]);
    if (last.ns != nullptr && last.thread == thread && last.is_idling == is_idling && start_ns >= last.from_ns &&
        end_ns <= last.to_ns) {
      *last.ns += static_cast<float>(end_ns - start_ns);
    } else {
      last = Add(thread, is_idling, start_ns, end_ns);
    }
  }
}

ConcurrencyOperator::Cell ConcurrencyOperator::Add(ElementId id, bool is_idling, int64_t start_ns, int64_t end_ns) {
  for (int joined = grid_.Cover(start_ns, end_ns); joined > 0; --joined) Join();
  Thread& thread = threads_[id];
  std::vector<float>& bins = is_idling ? thread.idling : thread.waiting;
  const size_t needed = grid_.BinsUntil(end_ns);
  if (bins.size() < needed) {
    cells_ += needed - bins.size();
    bins.resize(needed);
  }
  grid_.Spread(start_ns, end_ns, [&bins](size_t bin, int64_t ns) { bins[bin] += static_cast<float>(ns); });
  if (cells_ > kMaxCells) {
    grid_.Double();
    Join();
    return {};
  }
  if (needed == 0) return {};
  const int64_t to_ns = grid_.origin_ns() + static_cast<int64_t>(needed) * grid_.bin_ns();
  return {id, is_idling, to_ns - grid_.bin_ns(), to_ns, &bins[needed - 1]};
}

Concurrency ConcurrencyOperator::Judge(std::vector<Member> members, const TimeGrid& grid, int joined) const {
  /// Members on average.
  struct Bin {
    double alive = 0;
    double waiting = 0;
    double idling = 0;
  };
  std::vector<Bin> bins(TimeGrid::kBins);
  const auto bin_ns = static_cast<double>(grid.bin_ns());
  const auto bin_of = [&bins, joined](size_t i) -> Bin& { return bins[i >> joined]; };
  for (const Member& member : members) {
    grid.Spread(member.life.start_ns, member.life.end_ns,
                [&](size_t bin, int64_t ns) { bins[bin].alive += static_cast<double>(ns) / bin_ns; });
    const auto thread = threads_.find(member.life.thread);
    if (member.life.thread == 0 || thread == threads_.end()) continue;
    for (size_t i = 0; i < thread->second.waiting.size(); ++i)
      bin_of(i).waiting += static_cast<double>(thread->second.waiting[i]) / bin_ns;
    for (size_t i = 0; i < thread->second.idling.size(); ++i)
      bin_of(i).idling += static_cast<double>(thread->second.idling[i]) / bin_ns;
  }
  Concurrency result{.members = std::move(members)};
  for (const Bin& bin : bins) {
    const double there = bin.alive - bin.idling;
    if (there < kSeveral) continue;
    result.several_ns += bin_ns;
    result.others_ns += (there - 1) * bin_ns;
    result.waiting_ns += std::clamp(bin.waiting, 0.0, there - 1) * bin_ns;
    // More go on for a moment when hands change. If one goes on for a part p of the bin, and two or more for the
    // rest, they are at least p + 2 (1 - p) on average.
    result.serial_ns += std::clamp(2 - (there - bin.waiting), 0.0, 1.0) * bin_ns;
  }
  return result;
}

std::map<ElementId, Concurrency> ConcurrencyOperator::Snapshot(const SyncSums& sums,
                                                               const std::vector<ThreadLife>& lives) const {
  std::map<ElementId, std::vector<Member>> members;
  std::map<ElementId, int64_t> waited;
  for (const ThreadLife& life : lives) {
    const auto found = sums.waited_by_thread.find(life.thread);
    if (life.thread == 0 || found == sums.waited_by_thread.end()) {
      if (life.LengthNs() > 0) members[life.process].push_back({life, life.LengthNs()});
      continue;
    }
    const int64_t active_ns = life.LengthNs() - std::clamp<int64_t>(found->second, 0, life.LengthNs());
    AddTo(waited[life.process], found->second);
    if (active_ns > 0 && PartOf(active_ns, life.LengthNs()) >= kLeastActive)
      members[life.process].push_back({life, active_ns});
  }
  std::vector<std::pair<int64_t, ElementId>> most;
  for (const auto& [process, ns] : waited) {
    if (ns > 0 && members[process].size() >= 2) most.emplace_back(ns, process);
  }
  std::sort(most.rbegin(), most.rend());
  most.resize(std::min(most.size(), kMaxProcesses));
  std::map<ElementId, Concurrency> results;
  for (const auto& [ns, id] : most) {
    TimeGrid grid = grid_;
    int joined = 0;
    for (const Member& member : members[id]) joined += grid.Cover(member.life.start_ns, member.life.end_ns);
    results[id] = Judge(std::move(members[id]), grid, joined);
  }
  return results;
}

}  // namespace attune::analysis
