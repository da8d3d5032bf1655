#pragma once
/// Evaluates alarm rules on samples, batch by batch, in running sessions and in recordings.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/alarms/alarm_rule.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

/// One rule for one element (or for the machine), as of the newest samples.
struct AlarmReading {
  model::ElementId element = 0;
  std::string where;            ///< the element's name
  std::string text;             ///< one sentence: problem, place and size; empty without a value
  std::optional<double> value;  ///< in the rule's unit; nullopt: not known at the moment
  bool raised = false;
  int64_t since_ns = model::kAbsent;  ///< time of raising; if not raised, begin of the rule's `for` period
};

enum class AlarmVerdict : uint8_t {
  kFine,
  kRaised,
  kNotJudged,  ///< signals are missing: `why` names them
  kOff,
};
std::string_view ToString(AlarmVerdict verdict);

struct AlarmStatus {
  TunedRule rule;
  AlarmVerdict verdict = AlarmVerdict::kFine;
  std::string why;                     ///< of kNotJudged
  std::vector<AlarmReading> readings;  ///< elements with a value or a raised alarm, the worst first
};

/// @thread one at a time  @cost a binary search a batch; twice a second the tracked columns of a stream
class AlarmEvaluator {
 public:
  explicit AlarmEvaluator(const AlarmSettings& settings = {});
  ~AlarmEvaluator();
  AlarmEvaluator(AlarmEvaluator&&) noexcept;
  AlarmEvaluator& operator=(AlarmEvaluator&&) noexcept;

  /// Rows of info, elements, series, streams and samples; other tables are ignored. Samples of one stream must come in
  /// order of time, those of different streams nearly so.
  void Consume(const model::Batch& batch);
  /// Changes the settings from now on. Alarms of rules that are turned off are cleared at the next samples.
  void Apply(const AlarmSettings& settings);
  /// Limits the `for` time of all rules, for observations of a few seconds.
  void LimitFor(int64_t limit_ns);
  /// The alarms raised and cleared since the last call.
  std::vector<model::Alarm> Take();
  /// Every rule, in the order of the catalog.
  std::vector<AlarmStatus> Status() const;
  const std::vector<TunedRule>& rules() const;
  /// Whether a rule that is on uses the series.
  bool JudgesSeries(model::SeriesId series) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// From raising to clearing.
struct AlarmSpan {
  model::Alarm raised;
  int64_t cleared_ns = model::kAbsent;  ///< kAbsent: still raised
};
/// Pairs raised and cleared rows; a clearing without its raising is left out. Ascending time.
std::vector<AlarmSpan> PairAlarms(std::span<const model::Alarm> rows);

/// Earliest time of the next sample of a stream to be evaluated after one at `looked_ns`.
int64_t NextLookNs(int64_t looked_ns, int64_t interval_ns);

/// The result of the rules over a whole recording, or over the present part of a growing one.
struct AlarmHistory {
  std::vector<model::Alarm> alarms;  ///< in order of time
  std::vector<AlarmStatus> status;   ///< at the end
};
/// Evaluates the rules on a recording; reads only streams that a rule uses.
Result<AlarmHistory> JudgeRecording(model::Source& source, const AlarmSettings& settings);

}  // namespace attune::analysis
