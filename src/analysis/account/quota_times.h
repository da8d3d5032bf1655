#pragma once
/// Time for which CPU quotas of control groups kept threads from the CPUs, from the sensor `quota`.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "analysis/operators/operator.h"
#include "model/source.h"

namespace attune::analysis {

/// A control group with a quota, while processes of the program were in it.
struct QuotaTime {
  int64_t throttled_ns = 0;  ///< sum over all CPUs
  int64_t periods = 0;
  int64_t throttled_periods = 0;
  int64_t quota_ns = 0;  ///< CPU time in each period
  int64_t period_ns = 0;
  std::set<model::ElementId> processes;
};

/// Bounded: at most 1024 groups.
class QuotaTimesOperator final : public Operator {
 public:
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override;
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override;
  std::vector<QuotaTime> Snapshot() const;

 private:
  static constexpr size_t kMaxGroups = 1024;
  static constexpr size_t kSignals = 6;

  struct Group {
    QuotaTime time;  ///< counters as they are
    bool is_begun = false;
    QuotaTime before;  ///< counters before the program was in the group
  };

  void Add(model::ElementId process, int64_t t_ns, const int64_t (&values)[kSignals]);

  std::map<model::StreamId, std::vector<model::ElementId>> processes_;  ///< in the order of their columns
  std::map<int64_t, Group> groups_;
  int64_t first_ns_ = INT64_MAX;
};

}  // namespace attune::analysis
