#pragma once
/// What the programs' threads counted of locks and waits (wire/sync.h), as differences.
///
/// A table is seen several times while its thread lives (a snapshot about each second), and once more, entry by entry,
/// when the thread ends (kSyncTotal records in the ring). Each time the values are totals; what was told before is
/// subtracted here, so that every acquisition is told exactly once, whichever way it came.

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "wire/sync.h"

namespace attune::track {

/// What one thread did with one object at one site since the last difference. Times in ticks of the ring's clock.
struct SyncDelta {
  int32_t pid = 0;
  int32_t tid = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;
  uint64_t object = 0;
  uint64_t site = 0;
  uint64_t count = 0;
  uint64_t contended = 0;
  uint64_t wait = 0;
  uint64_t hold = 0;  ///< of `holds` of the acquisitions
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

  /// A table as it is now. Entries that make no sense (an unknown kind) are left out.
  void Snapshot(const Owner& owner, std::span<const wire::SyncEntry> entries);
  /// An entry's last word. @param owner sequence: the lowest eight bits are known
  void Total(const Owner& owner, const wire::SyncEntry& entry);
  /// A wait that is in no table. Of any thread that the program names.
  void Wait(const SyncDelta& wait);
  /// The differences since the last call, in the order in which they were seen; waits that are in no table last, summed
  /// up.
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
