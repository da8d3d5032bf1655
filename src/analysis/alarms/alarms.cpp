#include "analysis/alarms/alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "model/info_keys.h"

namespace attune::analysis {
namespace {

using model::Alarm;
using model::AlarmState;
using model::kAbsent;

/// Interval at which raised alarms without samples are looked for.
constexpr int64_t kSweepNs = 500'000'000;
/// Values and thresholds are kept in thousandths.
constexpr int kScale = -3;

int64_t Thousandths(double value) { return std::llround(std::clamp(value, -9e15, 9e15) * 1000); }

void Fill(std::string& text, std::string_view mark, std::string_view value) {
  if (const size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), value);
}

bool Beyond(bool above, double value, double threshold) { return above ? value > threshold : value < threshold; }

std::vector<const DerivedSeries*> SeriesOf(std::span<const AlarmRule> rules) {
  std::vector<const DerivedSeries*> series;
  for (const AlarmRule& rule : rules) series.push_back(&rule.condition.series);
  for (const AlarmRule& rule : rules) {
    for (const AlarmCondition& also : rule.also) series.push_back(&also.series);
  }
  return series;
}

void SortByUrgency(const AlarmRule& rule, std::vector<AlarmReading>& readings) {
  const double sign = rule.condition.above ? -1 : 1;
  std::ranges::stable_sort(readings, {}, [&](const AlarmReading& reading) {
    return std::tuple(!reading.raised, !reading.value, sign * reading.value.value_or(0));
  });
}

}  // namespace

std::string_view ToString(AlarmVerdict verdict) {
  switch (verdict) {
    case AlarmVerdict::kFine: return "ok";
    case AlarmVerdict::kRaised: return "raised";
    case AlarmVerdict::kNotJudged: return "cannot be judged";
    case AlarmVerdict::kOff: return "off";
  }
  return "?";
}

AlarmEvaluator::AlarmEvaluator(const AlarmSettings& settings)
    : rules_(TuneAll(settings)),
      derived_(SeriesOf(AlarmRules()),
               [this](int64_t now_ns, std::span<const DerivedValue* const> values) { JudgeAll(now_ns, values); }) {}

void AlarmEvaluator::Learn(const std::shared_ptr<const model::Metadata>& meta) {
  for (const auto& [key, why] : meta->info) {
    if (key.starts_with(model::info::kSkippedPrefix)) skipped_[key.substr(model::info::kSkippedPrefix.size())] = why;
  }
  for (const model::Element& element : meta->elements) {
    if (element.kind == model::ElementKind::kMachine && machine_ == 0) machine_ = element.id;
    names_[element.id] = element.name;
  }
  for (const model::Series& series : meta->series) sensors_.insert(series.sensor);
  derived_.Learn(meta);
}

void AlarmEvaluator::Apply(const AlarmSettings& settings) {
  rules_ = TuneAll(settings);
  LimitFor(most_for_ns_);
}

void AlarmEvaluator::LimitFor(int64_t limit_ns) {
  most_for_ns_ = limit_ns;
  for (TunedRule& rule : rules_) {
    rule.for_ns = std::min(rule.for_ns, limit_ns);
    rule.clear_after_ns = std::min(rule.clear_after_ns, limit_ns);
  }
}

void AlarmEvaluator::JudgeAll(int64_t now_ns, std::span<const DerivedValue* const> values) {
  for (const DerivedValue* value : values) {
    if (value->index() >= rules_.size()) continue;
    Instance& instance = instances_[{value->index(), value->element()}];
    instance.of = value;
    Judge(instance, now_ns);
  }
  if (now_ns < swept_ns_ + kSweepNs) return;
  // An alarm that is raised must be cleared also where no sample comes any more.
  swept_ns_ = now_ns;
  for (auto& [key, instance] : instances_) {
    if (instance.raised_id != 0 && now_ns - instance.judged_ns > instance.of->HoldsNs()) Judge(instance, now_ns);
  }
}

/// Whether what must hold besides does; false where that is not known.
bool AlarmEvaluator::AlsoHolds(const Instance& instance, int64_t now_ns) const {
  return std::ranges::all_of(RuleOf(instance).rule->also, [&](const AlarmCondition& also) {
    const DerivedValue* of = derived_.Find(also.series, instance.of->element());
    const auto value = of == nullptr ? std::nullopt : of->At(now_ns);
    return value && Beyond(also.above, *value, also.threshold);
  });
}

void AlarmEvaluator::Judge(Instance& instance, int64_t now_ns) {
  const TunedRule& tuned = RuleOf(instance);
  const bool above = tuned.rule->condition.above;
  const bool was_long_ago = instance.judged_ns != kAbsent && now_ns - instance.judged_ns > instance.of->HoldsNs();
  instance.value = tuned.on ? instance.of->At(now_ns) : std::nullopt;
  if (!instance.value) {
    if (instance.raised_id != 0 && (!tuned.on || was_long_ago))
      Clear(instance, now_ns, tuned.on ? NameOf(instance) + " has no values any more" : "turned off");
    if (instance.raised_id == 0) instance.holds_ns = kAbsent;
    return;
  }
  // The state before a gap says nothing of the time in it.
  if (was_long_ago) {
    instance.holds_ns = kAbsent;
    instance.calm_ns = kAbsent;
  }
  instance.judged_ns = now_ns;
  const bool also = AlsoHolds(instance, now_ns);
  if (instance.raised_id == 0) {
    const bool holds = also && Beyond(above, *instance.value, tuned.threshold);
    if (!holds) {
      instance.holds_ns = kAbsent;
    } else if (instance.holds_ns == kAbsent) {
      instance.holds_ns = now_ns;
    }
    if (holds && now_ns - instance.holds_ns >= tuned.for_ns) Raise(instance, now_ns);
    return;
  }
  const bool calm = !also || !Beyond(above, *instance.value, tuned.clear);
  if (!calm) {
    instance.calm_ns = kAbsent;
  } else if (instance.calm_ns == kAbsent) {
    instance.calm_ns = now_ns;
  }
  if (calm && now_ns - instance.calm_ns >= tuned.clear_after_ns) Clear(instance, now_ns, "");
}

Alarm AlarmEvaluator::Row(const Instance& instance, int64_t now_ns, AlarmState state) const {
  const TunedRule& tuned = RuleOf(instance);
  Alarm row;
  row.t_ns = now_ns;
  row.id = instance.raised_id;
  row.state = state;
  row.severity = tuned.rule->severity;
  row.element = ElementOf(instance);
  row.series = instance.of->FirstSeries();
  row.value = instance.value ? Thousandths(*instance.value) : kAbsent;
  row.threshold = Thousandths(state == AlarmState::kRaised ? tuned.threshold : tuned.clear);
  row.scale = kScale;
  row.alarm = tuned.rule->name;
  row.unit = tuned.rule->unit();
  return row;
}

void AlarmEvaluator::Raise(Instance& instance, int64_t now_ns) {
  instance.raised_id = ++last_id_;
  instance.raised_ns = now_ns;
  instance.calm_ns = kAbsent;
  Alarm row = Row(instance, now_ns, AlarmState::kRaised);
  row.text = Sentence(instance);
  row.advice = RuleOf(instance).rule->advice;
  news_.push_back(std::move(row));
}

void AlarmEvaluator::Clear(Instance& instance, int64_t now_ns, std::string_view why) {
  Alarm row = Row(instance, now_ns, AlarmState::kCleared);
  row.text = why.empty() ? Sentence(instance) : std::string(why);
  news_.push_back(std::move(row));
  instance.raised_id = 0;
  instance.raised_ns = kAbsent;
  instance.holds_ns = kAbsent;
  instance.calm_ns = kAbsent;
}

model::ElementId AlarmEvaluator::ElementOf(const Instance& instance) const {
  return instance.of->element() == 0 ? machine_ : instance.of->element();
}

std::string AlarmEvaluator::NameOf(const Instance& instance) const {
  const auto found = names_.find(ElementOf(instance));
  return found == names_.end() ? fmt::format("element {}", ElementOf(instance)) : found->second;
}

std::string AlarmEvaluator::Sentence(const Instance& instance) const {
  const AlarmRule& rule = *RuleOf(instance).rule;
  std::string text(rule.text);
  Fill(text, "{where}", NameOf(instance));
  Fill(text, "{value}", FormatAlarmValue(instance.value.value_or(0), rule.unit()));
  return text;
}

/// The reason in words: the signal that a rule needs and that is missing.
std::string AlarmEvaluator::WhyNotJudged(const AlarmRule& rule) const {
  const DerivedSeries& series = rule.condition.series;
  std::vector<SignalName> needed;
  for (const DerivedTerm& term : series.terms) needed.push_back(term.signals.front());
  for (const AlarmCondition& also : rule.also) needed.push_back(also.series.terms.front().signals.front());
  for (const auto& [sensor, signal] : needed) {
    if (!sensors_.contains(std::string(sensor))) {
      const auto skipped = skipped_.find(std::string(sensor));
      return skipped == skipped_.end() ? fmt::format("the sensor {} is not sampled", sensor)
                                       : fmt::format("no sensor {} here: {}", sensor, skipped->second);
    }
    if (derived_.TracksOf({sensor, signal}).empty())
      return fmt::format("the sensor {} has no signal {} here", sensor, signal);
  }
  for (const DerivedTerm& term : series.terms) {
    const SignalName& signal = term.signals.front();
    const auto tracks = derived_.TracksOf(signal);
    const auto has_limit = [](const DerivedTrack* track) { return track->series.max_per_second > 0; };
    if (term.value == SeriesValue::kShare && std::ranges::none_of(tracks, has_limit))
      return fmt::format("the most that is possible of {}.{} is not known here", signal.sensor, signal.signal);
    // All that is known of the signal may be that there is none of it (no swap).
    const auto level = [](const DerivedTrack* track) { return track->Level(); };
    const bool any = std::ranges::any_of(tracks, [&](const DerivedTrack* track) { return level(track).has_value(); });
    const auto divides = [&](const DerivedStep& by, const DerivedStep& step) {
      return by.op == DerivedOp::kTerm && &series.terms[by.term] == &term && step.op == DerivedOp::kDivide;
    };
    const bool is_divisor = std::ranges::adjacent_find(series.steps, divides) != series.steps.end();
    if (is_divisor && any &&
        std::ranges::all_of(tracks, [&](const auto* track) { return level(track).value_or(0) == 0; }))
      return fmt::format("{}.{} is 0 here", signal.sensor, signal.signal);
  }
  if (series.of_one_time)
    return fmt::format("{} and {} are not sampled at the same moments", needed[0].sensor, needed[1].sensor);
  return fmt::format("{}.{} has no values", needed[0].sensor, needed[0].signal);
}

std::vector<AlarmStatus> AlarmEvaluator::Status() const {
  std::vector<AlarmStatus> all;
  for (const TunedRule& rule : rules_)
    all.push_back({rule, rule.on ? AlarmVerdict::kFine : AlarmVerdict::kOff, "", {}});
  for (const auto& [key, instance] : instances_) {
    AlarmStatus& status = all[key.first];
    const bool raised = instance.raised_id != 0;
    if (!instance.value && !raised) continue;
    status.readings.push_back({ElementOf(instance), NameOf(instance), instance.value ? Sentence(instance) : "",
                               instance.value, raised, raised ? instance.raised_ns : instance.holds_ns});
    if (raised && status.rule.on) status.verdict = AlarmVerdict::kRaised;
  }
  for (AlarmStatus& status : all) {
    SortByUrgency(*status.rule.rule, status.readings);
    if (status.verdict != AlarmVerdict::kFine || !status.readings.empty()) continue;
    status.verdict = AlarmVerdict::kNotJudged;
    status.why = WhyNotJudged(*status.rule.rule);
  }
  return all;
}

std::vector<AlarmSpan> PairAlarms(std::span<const model::Alarm> rows) {
  std::vector<AlarmSpan> spans;
  std::map<int64_t, size_t> open;
  for (const model::Alarm& row : rows) {
    if (row.state == model::AlarmState::kRaised) {
      open[row.id] = spans.size();
      spans.push_back({row});
    } else if (const auto found = open.find(row.id); found != open.end()) {
      spans[found->second].cleared_ns = row.t_ns;
      open.erase(found);
    }
  }
  return spans;
}

Result<AlarmHistory> JudgeRecording(model::Source& source, const AlarmSettings& settings) {
  AlarmEvaluator evaluator(settings);
  ATTUNE_CHECK_OK(FeedInOrder(source, evaluator));
  return AlarmHistory{evaluator.Take(), evaluator.Status()};
}

}  // namespace attune::analysis
