#include "analysis/account/quota_times.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/account/sensor_columns.h"
#include "base/saturating.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

constexpr std::array<std::string_view, 6> kQuotaNames{"group", "throttled", "periods", "throttled_periods",
                                                      "quota", "period"};

}  // namespace

std::vector<uint32_t> QuotaTimesOperator::Columns(const model::Metadata& meta, const model::Stream& stream) {
  return FindColumns(meta, stream, "quota", kQuotaNames, processes_[stream.id]);
}

void QuotaTimesOperator::AddSamples(const model::Stream& stream, const model::SampleBlock& block) {
  const std::vector<ElementId>& processes = processes_[stream.id];
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    for (size_t i = 0; i < processes.size(); ++i) {
      int64_t values[kSignals];
      for (size_t signal = 0; signal < kSignals; ++signal) values[signal] = block.columns[i * kSignals + signal][row];
      Add(processes[i], SaneTime(block.t_ns[row]), values);
    }
  }
}

void QuotaTimesOperator::Add(ElementId process, int64_t t_ns, const int64_t (&values)[kSignals]) {
  first_ns_ = std::min(first_ns_, t_ns);
  if (std::ranges::find(values, kAbsent) != std::end(values)) return;
  const auto [id, throttled_ns, periods, throttled_periods, quota_ns, period_ns] = values;
  if (groups_.size() >= kMaxGroups && !groups_.contains(id)) return;
  Group& group = groups_[id];
  // A group that had no more periods than went by since was made for the program: all of it counts.
  const bool is_new = periods <= 1 || (period_ns > 0 && periods - 1 <= (t_ns - first_ns_) / period_ns);
  if (!group.is_begun && !is_new)
    group.before = {.throttled_ns = throttled_ns, .periods = periods, .throttled_periods = throttled_periods};
  group.is_begun = true;
  group.time.throttled_ns = std::max(group.time.throttled_ns, throttled_ns);
  group.time.periods = std::max(group.time.periods, periods);
  group.time.throttled_periods = std::max(group.time.throttled_periods, throttled_periods);
  group.time.quota_ns = quota_ns;
  group.time.period_ns = period_ns;
  group.time.processes.insert(process);
}

std::vector<QuotaTime> QuotaTimesOperator::Snapshot() const {
  std::vector<QuotaTime> times;
  for (const auto& [id, group] : groups_) {
    QuotaTime& time = times.emplace_back(group.time);
    time.throttled_ns = SaturatingSub(time.throttled_ns, group.before.throttled_ns);
    time.periods = SaturatingSub(time.periods, group.before.periods);
    time.throttled_periods = SaturatingSub(time.throttled_periods, group.before.throttled_periods);
  }
  return times;
}

}  // namespace attune::analysis
