#pragma once
/// Events that were counted of each thread, added up (attune run --count, docs/counters.md).

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/schema.h"

namespace attune::analysis {

/// Counts of one thread, by the names of events in small letters (`cycles:u`).
using EventSums = std::map<std::string, double, std::less<>>;

/// An event's name in EventSums.
std::string EventKey(std::string_view event);

/// Count of the first of several names for the same event, as a whole or in the program alone; nullopt: none was
/// counted.
std::optional<double> CountOf(const EventSums& sums, std::initializer_list<std::string_view> names);

/// Cache lines that came from memory; nullopt: not counted.
std::optional<double> MissesOf(const EventSums& sums);

/// Adds up the table thread_counts. @cost memory for each thread and event
class CountedEvents final : public Operator {
 public:
  std::vector<model::Table> Tables() const override;
  void AddRows(const model::Batch& batch) override;

  /// Threads that were too short-lived to be seen are not in it.
  const std::map<model::ElementId, EventSums>& Sums() const { return sums_; }

 private:
  static constexpr size_t kMaxThreads = size_t{1} << 18;

  std::map<model::ElementId, EventSums> sums_;
};

}  // namespace attune::analysis
