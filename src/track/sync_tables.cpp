#include "track/sync_tables.h"

#include <algorithm>

namespace attune::track {
namespace {

/// A thread that ended may still have totals in the ring while its slot's next owner is seen already.
constexpr size_t kMaxGenerations = 4;
/// More than any table holds: only a program that lies comes here, and its numbers are then told again.
constexpr size_t kMaxTold = size_t{2} * wire::kMaxSyncEntries;

bool IsKind(uint8_t kind) {
  return kind > static_cast<uint8_t>(wire::SyncKind::kNone) && kind <= static_cast<uint8_t>(wire::kLastSyncKind);
}

/// Totals only grow; what a hostile program lets fall counts as nothing.
uint64_t Since(uint64_t now, uint64_t before) { return now > before ? now - before : 0; }

}  // namespace

SyncTables::Generation& SyncTables::Find(const Owner& owner) {
  std::vector<Generation>& generations = slots_[owner.slot];
  const auto found = std::find_if(generations.begin(), generations.end(), [&](const Generation& each) {
    return (each.sequence & 0xff) == (owner.sequence & 0xff);
  });
  if (found != generations.end()) return *found;
  if (generations.size() == kMaxGenerations) generations.erase(generations.begin());
  return generations.emplace_back(Generation{owner.sequence, {}});
}

void SyncTables::Snapshot(const Owner& owner, std::span<const wire::SyncEntry> entries) {
  Generation& generation = Find(owner);
  for (const wire::SyncEntry& entry : entries) {
    if (entry.object != 0 && IsKind(entry.kind)) Tell(owner, generation, entry);
  }
}

void SyncTables::Total(const Owner& owner, const wire::SyncEntry& entry) {
  if (!IsKind(entry.kind)) return;
  Generation& generation = Find(owner);
  Tell(owner, generation, entry);
  generation.told.erase({entry.object, entry.site, entry.kind});
}

void SyncTables::Tell(const Owner& owner, Generation& generation, const wire::SyncEntry& entry) {
  if (generation.told.size() > kMaxTold) generation.told.clear();
  wire::SyncEntry& told = generation.told[{entry.object, entry.site, entry.kind}];
  const SyncDelta delta{owner.pid,
                        owner.tid,
                        static_cast<wire::SyncKind>(entry.kind),
                        entry.object,
                        entry.site,
                        Since(entry.count, told.count),
                        Since(entry.contended, told.contended),
                        Since(entry.wait, told.wait),
                        Since(entry.hold, told.hold),
                        Since(entry.holds, told.holds)};
  told = entry;
  // A lock that is held for long is acquired before one reading and released before a later one.
  if (delta.count > 0 || delta.contended > 0 || delta.holds > 0) deltas_.push_back(delta);
}

void SyncTables::Wait(const SyncDelta& wait) {
  if (!IsKind(static_cast<uint8_t>(wait.kind))) return;
  if (waits_.size() > kMaxTold) FlushWaits();
  SyncDelta& sum = waits_[{wait.pid, wait.tid, wait.kind, wait.object, wait.site}];
  const SyncDelta before = sum;
  sum = wait;
  sum.count += before.count;
  sum.contended += before.contended;
  sum.wait += before.wait;
}

void SyncTables::FlushWaits() {
  for (const auto& [key, sum] : waits_) deltas_.push_back(sum);
  waits_.clear();
}

std::vector<SyncDelta> SyncTables::Take() {
  FlushWaits();
  return std::exchange(deltas_, {});
}

}  // namespace attune::track
