#pragma once
/// Judges what was sampled by the rules, batch by batch: the same for a session that runs and for a recording.

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
  std::string text;             ///< one sentence: what, where, how much; empty where there is no value
  std::optional<double> value;  ///< in the rule's unit; nothing: not known at the moment
  bool raised = false;
  int64_t since_ns = model::kAbsent;  ///< raised: when; else since when it holds, waiting for the rule's `for`
};

enum class AlarmVerdict : uint8_t {
  kFine,
  kRaised,
  kNotJudged,  ///< the signals are not there: `why` says which
  kOff,
};
std::string_view ToString(AlarmVerdict verdict);

struct AlarmStatus {
  TunedRule rule;
  AlarmVerdict verdict = AlarmVerdict::kFine;
  std::string why;                     ///< of kNotJudged
  std::vector<AlarmReading> readings;  ///< what has a value or is raised: the worst first
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
  /// Judges otherwise from now on. Alarms of rules that are turned off are cleared at the next samples.
  void Apply(const AlarmSettings& settings);
  /// No rule waits longer than that for its `for`: for who looks at a machine for a few seconds only.
  void LimitFor(int64_t limit_ns);
  /// What was raised and cleared since the last call.
  std::vector<model::Alarm> Take();
  /// Every rule, in the order of the catalog.
  std::vector<AlarmStatus> Status() const;
  const std::vector<TunedRule>& rules() const;
  /// Whether any sensor's series are judged by a rule that is on.
  bool JudgesSeries(model::SeriesId series) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// From raising to clearing.
struct AlarmSpan {
  model::Alarm raised;
  int64_t cleared_ns = model::kAbsent;  ///< kAbsent: it still is on
};
/// Puts the rows of the table together; a clearing without its raising is left out. Ascending time.
std::vector<AlarmSpan> PairAlarms(std::span<const model::Alarm> rows);

/// After a sample that was looked at, the next one of its stream that is lies there or later.
int64_t NextLookNs(int64_t looked_ns, int64_t interval_ns);

/// The rules over a whole recording, or what there is of one that grows.
struct AlarmHistory {
  std::vector<model::Alarm> alarms;  ///< in order of time
  std::vector<AlarmStatus> status;   ///< at the end
};
/// Reads the samples of those streams that have anything to judge.
Result<AlarmHistory> JudgeRecording(model::Source& source, const AlarmSettings& settings);

}  // namespace attune::analysis
