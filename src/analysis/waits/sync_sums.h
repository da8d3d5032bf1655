#pragma once
/// The table `sync` added up: what each thread did with each lock, condition, ... at each place in the code.

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "base/saturating.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

/// Locks are held; for all else is only waited.
constexpr bool IsLock(wire::SyncKind kind) {
  using wire::SyncKind;
  return kind == SyncKind::kMutex || kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock ||
         kind == SyncKind::kSpinLock || kind == SyncKind::kCritical;
}
/// Kinds at which threads wait until all of them have come.
constexpr bool IsBarrier(wire::SyncKind kind) {
  return kind == wire::SyncKind::kBarrier || kind == wire::SyncKind::kTeamBarrier;
}
/// Waits of a thread that has nothing to do meanwhile: for the end of another one, or as a pool's worker for work.
constexpr bool IsIdling(wire::SyncKind kind) { return kind == wire::SyncKind::kJoin || kind == wire::SyncKind::kIdle; }
/// Waits until the tasks of a team are done, by threads that have none to do themselves.
constexpr bool IsTaskWait(wire::SyncKind kind) { return kind == wire::SyncKind::kTaskWait; }

/// Name of an object's kind, by the kind of its waits or acquisitions; read and write locks are one.
std::string KindName(wire::SyncKind kind);

struct SyncCounts {
  int64_t count = 0;    ///< acquisitions; of conditions, barriers and joins: waits that ended well
  int64_t calls = 0;    ///< that might have waited
  int64_t waits = 0;    ///< calls that had to wait
  int64_t wait_ns = 0;  ///< by these
  int64_t holds = 0;    ///< acquisitions of which the hold time was taken
  int64_t hold_ns = 0;  ///< hold time of these

  void Add(const model::Sync& row);
  void Add(const SyncCounts& other);
  /// Hold time of all acquisitions, extrapolated from the sampled ones; 0: none was sampled.
  double EstimatedHoldNs() const;
};

struct ObjectSums {
  /// A place in the code, and what is done there: reading and writing at one place are told apart.
  using Place = std::pair<model::ElementId, wire::SyncKind>;

  wire::SyncKind kind = wire::SyncKind::kNone;                     ///< kind of its calls; kNone: wake-ups only
  SyncCounts total;                                                ///< wake-ups left out
  std::map<Place, std::map<model::ElementId, SyncCounts>> places;  ///< by thread; wake-ups are places, too

  /// Hold time of all acquisitions: by the samples of each place and thread, else by the mean; 0: there are no samples.
  double EstimatedHoldNs() const;
  /// By thread, over all places but those of wake-ups.
  std::map<model::ElementId, SyncCounts> ByThread() const;
};

struct SyncSums {
  std::map<model::ElementId, ObjectSums> objects;
  /// Calls of files that took long, by process's files. They are kept apart: part of such a call may be computing.
  std::map<model::ElementId, ObjectSums> files;
  std::unordered_map<model::ElementId, int64_t> waited_by_thread;  ///< nanoseconds, for `objects`
  int64_t read_ns = INT64_MIN;  ///< when they were read last: while a program runs, up to a second ago
};

/// @param batch of the table `sync` @cost a row about 0.2 us; memory for each thread, object and site, not for rows
void AddSyncRows(const model::Batch& batch, SyncSums& sums);
Result<SyncSums> ReadSyncSums(model::Source& source);

}  // namespace attune::analysis
