#pragma once
/// The part of the table `sync` that is about no object: calls that take time by themselves, and waits whose time was
/// up.

#include <cstdint>
#include <map>
#include <tuple>

#include "analysis/operators/operator.h"
#include "analysis/waits/sync_sums.h"
#include "model/source.h"
#include "wire/sync.h"

namespace attune::analysis {

/// A thread's waits at a place that ended without what was waited for.
struct UnservedWaits {
  int64_t waits = 0;  ///< all, also those that were served
  int64_t unserved = 0;
  int64_t unserved_ns = 0;
};

/// @cost memory for each thread, object and place
class CallSums final : public Operator {
 public:
  /// Thread, object, site and kind.
  using Key = std::tuple<model::ElementId, model::ElementId, model::ElementId, wire::SyncKind>;

  std::vector<model::Table> Tables() const override { return {model::Sync::kTable}; }
  void AddRows(const model::Batch& batch) override;

  /// Creations of threads, sleeps, waits for children and descriptors, by the element that stands for all of a process.
  const std::map<model::ElementId, ObjectSums>& calls() const { return calls_; }
  /// Kinds other than locks, with at least one unserved wait.
  const std::map<Key, UnservedWaits>& unserved() const { return unserved_; }
  /// Time in calls of MPI, by thread: most of it is waiting, where messages are small.
  const std::map<model::ElementId, int64_t>& mpi_ns() const { return mpi_ns_; }

 private:
  std::map<model::ElementId, ObjectSums> calls_;
  std::map<Key, UnservedWaits> unserved_;
  std::map<model::ElementId, int64_t> mpi_ns_;
};

}  // namespace attune::analysis
