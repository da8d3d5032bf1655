#pragma once
/// Alarms: rules over derived series, the same for a session that runs and for a recording.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/alarms/alarm_rule.h"
#include "analysis/derived/derived_operator.h"
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
  std::string why;                     ///< reason for kNotJudged
  std::vector<AlarmReading> readings;  ///< elements with a value or a raised alarm, the worst first
};

/// Judges derived series by the rules. @thread one at a time
class AlarmEvaluator : public Operator {
 public:
  explicit AlarmEvaluator(const AlarmSettings& settings = {});
  AlarmEvaluator(const AlarmEvaluator&) = delete;
  AlarmEvaluator& operator=(const AlarmEvaluator&) = delete;

  void Learn(const std::shared_ptr<const model::Metadata>& meta) override;
  std::vector<uint32_t> Columns(const model::Metadata& meta, const model::Stream& stream) override {
    return derived_.Columns(meta, stream);
  }
  void AddSamples(const model::Stream& stream, const model::SampleBlock& block) override {
    derived_.AddSamples(stream, block);
  }

  /// Judges otherwise from now on. Alarms of rules that are turned off are cleared at the next samples.
  void Apply(const AlarmSettings& settings);
  /// No rule waits longer than that: who looks for some seconds cannot wait for a minute.
  void LimitFor(int64_t limit_ns);
  /// Alarms raised and cleared since the last call.
  std::vector<model::Alarm> Take() { return std::exchange(news_, {}); }
  /// Every rule, in the order of the catalog.
  std::vector<AlarmStatus> Status() const;
  const std::vector<TunedRule>& rules() const { return rules_; }

 private:
  /// One rule for one element.
  struct Instance {
    const DerivedValue* of = nullptr;
    std::optional<double> value;
    int64_t judged_ns = model::kAbsent;  ///< when it last had a value
    int64_t holds_ns = model::kAbsent;   ///< since when it holds; kAbsent: it does not
    int64_t calm_ns = model::kAbsent;    ///< since when it does not hold any more, where it is raised
    int64_t raised_ns = model::kAbsent;
    int64_t raised_id = 0;  ///< 0: it is not raised
  };
  void JudgeAll(int64_t now_ns, std::span<const DerivedValue* const> values);
  void Judge(Instance& instance, int64_t now_ns);
  bool AlsoHolds(const Instance& instance, int64_t now_ns) const;
  void Raise(Instance& instance, int64_t now_ns);
  void Clear(Instance& instance, int64_t now_ns, std::string_view why);
  model::Alarm Row(const Instance& instance, int64_t now_ns, model::AlarmState state) const;
  const TunedRule& RuleOf(const Instance& instance) const { return rules_[instance.of->index()]; }
  model::ElementId ElementOf(const Instance& instance) const;
  std::string NameOf(const Instance& instance) const;
  std::string Sentence(const Instance& instance) const;
  std::string WhyNotJudged(const AlarmRule& rule) const;

  std::vector<TunedRule> rules_;
  int64_t most_for_ns_ = INT64_MAX;
  DerivedOperator derived_;                     ///< a series for each rule, then those that must hold besides
  std::map<std::string, std::string> skipped_;  ///< sensors that are not here, and why
  std::set<std::string> sensors_;               ///< those that are
  model::ElementId machine_ = 0;
  std::unordered_map<model::ElementId, std::string> names_;
  std::map<std::pair<size_t, model::ElementId>, Instance> instances_;
  int64_t swept_ns_ = INT64_MIN / 2;
  int64_t last_id_ = 0;
  std::vector<model::Alarm> news_;
};

/// From raising to clearing.
struct AlarmSpan {
  model::Alarm raised;
  int64_t cleared_ns = model::kAbsent;  ///< kAbsent: it still is on
};
/// Puts the rows of the table together; a clearing without its raising is left out. Ascending time.
std::vector<AlarmSpan> PairAlarms(std::span<const model::Alarm> rows);

/// The rules over a whole recording, or what there is of one that grows.
struct AlarmHistory {
  std::vector<model::Alarm> alarms;  ///< in order of time
  std::vector<AlarmStatus> status;   ///< at the end
};
/// Reads the samples of those streams that have anything to judge.
Result<AlarmHistory> JudgeRecording(model::Source& source, const AlarmSettings& settings);

}  // namespace attune::analysis
