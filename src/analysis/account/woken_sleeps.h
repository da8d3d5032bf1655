#pragma once
/// Sleeps that another observed thread ended, in calls on pipes, sockets and events, and in poll and its like: what
/// threads waited for from each other whatever functions they called (docs/account.md).

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/schema.h"

namespace attune::analysis {

struct WokenSleep {
  int64_t ns = 0;
  int64_t count = 0;
  int64_t poll_ns = 0;  ///< part of ns: in poll and its like
};

/// Adds up the table state_times. Empty where switches were not seen. @cost memory for each pair of threads
class WokenSleeps final : public Operator {
 public:
  /// The sleeping thread, and the one that ended the sleep.
  using Pair = std::pair<model::ElementId, model::ElementId>;

  std::vector<model::Table> Tables() const override { return {model::StateTime::kTable}; }
  void AddRows(const model::Batch& batch) override;

  const std::map<Pair, WokenSleep>& Sums() const { return sums_; }
  /// Time that a thread slept in poll and its like, whoever ended it.
  int64_t PolledNs(model::ElementId thread) const;

 private:
  static constexpr size_t kMaxPairs = size_t{1} << 18;

  std::map<Pair, WokenSleep> sums_;
  std::map<model::ElementId, int64_t> polled_ns_;
};

}  // namespace attune::analysis
