#pragma once
/// CPU time and events of programs by place in the code: sums of the tables `cpu_samples`, `event_samples` and `stacks`
/// (docs/profile.md).

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/operators/operator.h"
#include "analysis/places/code_place.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// Samples as they are, summed up: of CPU time, whose weights are ns; of an event, whose weights are how often it
/// occurred.
struct SampleSums {
  std::vector<model::Stack> stacks;                                        ///< by id less 1; an id of 0: not there
  std::map<std::pair<model::ElementId, int64_t>, int64_t> weights;         ///< by thread and stack
  std::map<model::ElementId, int64_t> by_site;                             ///< by place
  std::map<std::pair<model::ElementId, int64_t>, model::TimeRange> times;  ///< from first to last sample, as weights
  int64_t total = 0;
  int64_t samples = 0;
  int64_t samples_in_all = 0;  ///< with those outside of the range

  /// The places of a call path, outermost first.
  std::vector<model::ElementId> PathOf(int64_t stack) const;
};
/// Sums of samples as they come. @cost 0.1 us a sample; memory for stacks and places, not for samples
class CpuSamplesOperator final : public Operator {
 public:
  /// @param range only samples taken in this part of the time
  explicit CpuSamplesOperator(const std::optional<model::TimeRange>& range = std::nullopt) : range_(range) {}

  std::vector<model::Table> Tables() const override { return {model::Stack::kTable, model::CpuSample::kTable}; }
  void AddRows(const model::Batch& batch) override;
  SampleSums& samples() { return samples_; }

 private:
  const std::optional<model::TimeRange> range_;
  SampleSums samples_;
};
/// @param range only samples taken in this part of the time
Result<SampleSums> ReadCpuSamples(model::Source& source, const std::optional<model::TimeRange>& range = std::nullopt);
/// Those of each event (--event-samples), by its name. @param range as above
Result<std::map<std::string, SampleSums>> ReadEventSamples(model::Source& source,
                                                           const std::optional<model::TimeRange>& range = std::nullopt);

/// A function of a module; where its name is not known, a place.
struct HotFunction {
  CodePlace place;       ///< place in it with most of self_ns
  int64_t self_ns = 0;   ///< in it
  int64_t total_ns = 0;  ///< in it and in what it called, as far as call paths are known
  double share = 0;      ///< self_ns of all that was sampled
};

struct CpuProfile {
  int64_t sampled_ns = 0;  ///< CPU time that the samples stand for; 0: there are none
  int64_t samples = 0;
  std::vector<HotFunction> functions;  ///< most self_ns first, at most kMaxFunctions

  static constexpr size_t kMaxFunctions = 50;
};
CpuProfile SummariseCpu(const SampleSums& samples, const SiteNames& names);

}  // namespace attune::analysis
