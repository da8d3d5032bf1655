#include "analysis/waits/lock_relief.h"

#include <algorithm>

#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;

/// A process's life, and the most that one of its threads does besides waiting.
struct Lives {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = 0;
  int64_t longest_active_ns = 0;
};

Lives LivesOf(const WaitTables& waits, ElementId process) {
  Lives lives;
  for (const ThreadLife& life : waits.lives) {
    if (life.process != process) continue;
    lives.start_ns = std::min(lives.start_ns, life.start_ns);
    lives.end_ns = std::max(lives.end_ns, life.end_ns);
    const auto waited = waits.sums.waited_by_thread.find(life.thread);
    const int64_t waited_ns = waited == waits.sums.waited_by_thread.end() ? 0 : waited->second;
    lives.longest_active_ns = std::max(lives.longest_active_ns, life.LengthNs() - SaneTime(waited_ns));
  }
  return lives;
}

int64_t WaitedForLockNs(const ObjectSums& object) {
  int64_t sum_ns = 0;
  for (const auto& [place, threads] : object.places) {
    if (!IsLock(place.second)) continue;
    for (const auto& [thread, counts] : threads) AddTo(sum_ns, SaneTime(counts.wait_ns));
  }
  return sum_ns;
}

}  // namespace

/// In order, and none overlaps another one.
void LockWaits::Join(std::vector<std::pair<int64_t, int64_t>>& waits) {
  std::sort(waits.begin(), waits.end());
  size_t last = 0;
  for (size_t i = 1; i < waits.size(); ++i) {
    if (waits[i].first <= waits[last].second) {
      waits[last].second = std::max(waits[last].second, waits[i].second);
    } else {
      waits[++last] = waits[i];
    }
  }
  if (!waits.empty()) waits.resize(last + 1);
}

void LockWaits::AddEvents(const model::EventBlock& block) {
  ElementId last_id = 0;  // mostly, the wait before was for the same one
  Lock* last = nullptr;
  for (size_t i = 0; i < block.t_ns.size(); ++i) {
    if (!wire::IsWait(block.kind[i]) || block.b[i] < 0 || block.b[i] > static_cast<int64_t>(wire::kLastSyncKind) ||
        !IsLock(static_cast<wire::SyncKind>(block.b[i])))
      continue;
    const int64_t end_ns = SaneTime(block.t_ns[i]);
    const int64_t wait_ns = std::min(SaneTime(block.a[i]), end_ns);
    const auto id = static_cast<ElementId>(block.object[i]);
    if (last == nullptr || id != last_id) {
      last_id = id;
      last = &locks_[id];
    }
    Lock& lock = *last;
    AddTo(lock.all_ns, wait_ns);
    if (kept_ == kMax) {
      AddTo(lock.left_out_ns, wait_ns);
      continue;
    }
    ++kept_;
    lock.waits.emplace_back(end_ns - wait_ns, end_ns);
    if (lock.waits.size() < lock.many) continue;
    kept_ -= lock.waits.size();
    Join(lock.waits);
    kept_ += lock.waits.size();
    lock.many = std::max(size_t{1} << 12, lock.waits.size() * 2);
  }
}

int64_t LockWaits::CoveredNs(std::span<const ElementId> locks, const SyncSums& sums) const {
  std::vector<std::pair<int64_t, int64_t>> waits;
  int64_t covered_ns = 0;
  for (const ElementId id : locks) {
    const auto found = locks_.find(id);
    const int64_t seen_ns = found == locks_.end() ? 0 : found->second.all_ns;
    if (const auto sum = sums.objects.find(id); sum != sums.objects.end())
      AddTo(covered_ns, std::max<int64_t>(0, WaitedForLockNs(sum->second) - seen_ns));
    if (found == locks_.end()) continue;
    waits.insert(waits.end(), found->second.waits.begin(), found->second.waits.end());
    AddTo(covered_ns, found->second.left_out_ns);
  }
  Join(waits);
  for (const auto& [from_ns, to_ns] : waits) AddTo(covered_ns, to_ns - from_ns);
  return covered_ns;
}

Relief RelieveAtAll(const WaitTables& waits, const model::Metadata& meta, ElementId process_id, size_t cpus) {
  const Lives lives = LivesOf(waits, process_id);
  if (lives.end_ns <= lives.start_ns) return {};
  const int64_t life_ns = lives.end_ns - lives.start_ns;
  int64_t least_ns = lives.longest_active_ns;
  for (const model::Process& process : meta.processes) {
    if (process.id != process_id || cpus == 0) continue;
    if (process.user_ns == model::kAbsent || process.system_ns == model::kAbsent) continue;
    least_ns =
        std::max(least_ns, (SaneTime(process.user_ns) + SaneTime(process.system_ns)) / static_cast<int64_t>(cpus));
  }
  return {std::clamp<int64_t>(life_ns - least_ns, 0, life_ns), life_ns};
}

Relief RelieveOf(const LockWaits& lock_waits, const WaitTables& waits, const model::Metadata& meta,
                 std::span<const ElementId> locks, size_t cpus) {
  const model::Element* element = meta.FindElement(locks.front());
  if (element == nullptr) return {};
  Relief relief = RelieveAtAll(waits, meta, element->parent, cpus);
  relief.shorter_ns = std::min(relief.shorter_ns, lock_waits.CoveredNs(locks, waits.sums));
  return relief;
}

}  // namespace attune::analysis
