#pragma once
/// Attributes lock wait time to the call sites that held the lock.

#include <vector>

#include "analysis/waits/blame.h"
#include "analysis/waits/sync_sums.h"

namespace attune::analysis {

/// A place where a lock is acquired, with the waiting that holding it from there causes.
struct LockCause {
  model::ElementId site = 0;
  wire::SyncKind kind = wire::SyncKind::kNone;  ///< how it is acquired there; kNone: not known
  double caused_ns = 0;                         ///< wait time of the others
  double hold_ns = 0;                           ///< by all threads
  int64_t count = 0;                            ///< acquisitions
  int64_t holds = 0;                            ///< acquisitions with a sampled hold time
};

/// As level blame says: who had the lock while others waited for it, and from where.
/// @param blames of this lock  @return most caused first
std::vector<LockCause> LockCauses(const ObjectSums& lock, const std::vector<Blame>& blames);

/// Without it each thread's waiting is shared out over the places from where the other threads hold the lock, by the
/// time that they hold it for; what holds for reading keeps no reader waiting. That is an estimate from sampled hold
/// times, and right as far as a thread finds the lock taken as often as it is held. What no sampled hold explains is
/// nobody's.
/// @return most caused first; empty: of no acquisition was the hold time taken
/// @cost threads x places of the lock
std::vector<LockCause> EstimateLockCauses(const ObjectSums& lock);

}  // namespace attune::analysis
