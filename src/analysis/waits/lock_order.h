#pragma once
/// In which orders threads take locks that they have at the same time, and where two orders contradict each other.

#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/waits/sync_sums.h"
#include "model/source.h"

namespace attune::analysis {

/// A lock, and where it was acquired.
struct LockAtPlace {
  model::ElementId lock = 0;
  model::ElementId site = 0;

  auto operator<=>(const LockAtPlace&) const = default;
};

/// A thread asked for a lock while it had others.
struct NestedAcquisition {
  LockAtPlace wanted;
  std::vector<LockAtPlace> held;                ///< sorted by lock, each lock once
  std::map<model::ElementId, int64_t> threads;  ///< that did so, and when first
};

/// A thread that had one lock of a cycle and asked for the next one.
struct LockStep {
  LockAtPlace held;
  const NestedAcquisition* acquisition = nullptr;  ///< the lock asked for, and the threads that did
  model::ElementId thread = 0;                     ///< one of them: each step of a cycle has another one
};

/// Locks that threads ask for in a circle: were each of them at its step at the same time, none would go on.
struct LockCycle {
  std::vector<LockStep> steps;  ///< the lock asked for in one is had in the next; behind the last comes the first
  int64_t entangled = 0;        ///< locks that are in any circle with these, themselves included
};

/// Takes events of the kind lock_order in blocks. Bounded: of what comes behind kMax different acquisitions nothing is
/// kept.
class LockOrders final : public Operator {
 public:
  static constexpr size_t kMax = size_t{1} << 14;
  static constexpr size_t kLongestCycle = 6;

  EventKinds Kinds() const override { return {wire::EventKind::kLockOrder}; }
  void AddEvents(const model::EventBlock& block) override;
  /// Keeps acquisitions before that time, of which all events have come: one for each lock that the thread had as it
  /// asked.
  void Settle(int64_t before_ns);

  /// Shortest circle of each knot of locks, by at least two threads. No step is kept apart from another: by a lock that
  /// both have, or as both only read. @param sums tell where locks are acquired for reading
  /// @cost bounded: a circle that is hidden among very many locks may be missed
  std::vector<LockCycle> Cycles(const SyncSums& sums) const;

 private:
  struct Pending {
    int64_t t_ns = 0;
    LockAtPlace wanted;
    std::map<model::ElementId, model::ElementId> held;  ///< lock to site
  };
  using Key = std::pair<LockAtPlace, std::vector<LockAtPlace>>;

  void Keep(model::ElementId thread, const Pending& pending);

  std::unordered_map<model::ElementId, Pending> pending_;  ///< by thread
  std::map<Key, NestedAcquisition> acquisitions_;
};

}  // namespace attune::analysis
