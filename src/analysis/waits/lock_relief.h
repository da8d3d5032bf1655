#pragma once
/// Bounds for how much shorter a program could be if nobody had to wait for some of its objects
/// (docs/critical-path.md).

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/waits/wait_summary.h"
#include "model/source.h"

namespace attune::analysis {

/// When at least one thread waited for a lock. Bounded: waits that overlap are kept as one, at most kMax in all.
class LockWaits final : public Operator {
 public:
  static constexpr size_t kMax = size_t{1} << 20;

  EventKinds Kinds() const override { return kWaitEvents; }
  void AddEvents(const model::EventBlock& block) override;
  /// For any of the locks. What comes behind kMax, and what `sums` has beyond the events, which may be lost, counts in
  /// full, as if no two threads had waited at the same time.
  int64_t CoveredNs(std::span<const model::ElementId> locks, const SyncSums& sums) const;

 private:
  struct Lock {
    std::vector<std::pair<int64_t, int64_t>> waits;  ///< from, to
    size_t many = size_t{1} << 12;                   ///< when to join those that overlap
    int64_t left_out_ns = 0;
    int64_t all_ns = 0;  ///< wait time of all events
  };
  static void Join(std::vector<std::pair<int64_t, int64_t>>& waits);

  std::map<model::ElementId, Lock> locks_;
  size_t kept_ = 0;
};

struct Relief {
  int64_t shorter_ns = 0;  ///< at most
  int64_t life_ns = 0;     ///< process's life; 0: not known, and nothing can be said
};

/// Whatever is not waited for: what is left of a process's life is at least what any of its threads does besides
/// waiting, and at least its CPU time on all of its CPUs.
/// @param cpus that the process may use; 0: not known
Relief RelieveAtAll(const WaitTables& waits, const model::Metadata& meta, model::ElementId process, size_t cpus);
/// The same for some locks: besides, no more is saved than the time in which at least one thread waits for one of them.
/// @param locks of one process, at least one
Relief RelieveOf(const LockWaits& lock_waits, const WaitTables& waits, const model::Metadata& meta,
                 std::span<const model::ElementId> locks, size_t cpus);

}  // namespace attune::analysis
