#pragma once
/// Turns the lock and wait counts of the programs' threads (wire/sync.h) into differences.
///
/// A table is read about once a second while its thread lives, and once more, entry by entry, when the thread ends
/// (kSyncTotal records in the ring). The values are always totals. This class subtracts the previous totals, so that
/// every acquisition counts exactly once, whichever way it arrives.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "wire/sync.h"

namespace attune::track {

/// One thread's calls on one object at one site since the last difference. Times in ticks of the ring's clock.
struct SyncDelta {
  int32_t pid = 0;
  int32_t tid = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  uint64_t object = 0;
  uint64_t site = 0;
  uint64_t count = 0;
  uint64_t contended = 0;
  uint64_t wait = 0;
  uint64_t hold = 0;  ///< hold time of `holds` sampled acquisitions
  uint64_t holds = 0;
};

/// @thread one at a time
class SyncTables {
 public:
  struct Owner {
    uint32_t slot = 0;
    uint32_t sequence = 0;  ///< RingSlot::sync_owner
    int32_t pid = 0;
    int32_t tid = 0;
  };

  /// Takes a table in its current state. Invalid entries (an unknown kind) are left out.
  void Snapshot(const Owner& owner, std::span<const wire::SyncEntry> entries);
  /// Takes the final values of an entry. @param owner only the lowest eight bits of `sequence` are known
  void Total(const Owner& owner, const wire::SyncEntry& entry);
  /// Adds a wait that is in no table, of any thread that the program names.
  void Wait(const SyncDelta& wait);
  /// The differences since the last call, in the order of arrival; then the sums of waits that are in no table.
  std::vector<SyncDelta> Take();

 private:
  using Key = std::tuple<uint64_t, uint64_t, uint8_t>;  // object, site, kind
  struct Generation {
    uint32_t sequence = 0;
    std::map<Key, wire::SyncEntry> told;
  };

  Generation& Find(const Owner& owner);
  void FlushWaits();
  void Tell(const Owner& owner, Generation& generation, const wire::SyncEntry& entry);

  std::map<uint32_t, std::vector<Generation>> slots_;  ///< the newest last
  std::vector<SyncDelta> deltas_;
  std::map<std::tuple<int32_t, int32_t, wire::SyncKind, uint64_t, uint64_t>, SyncDelta> waits_;  ///< pid, tid, ...
};

}  // namespace attune::track
