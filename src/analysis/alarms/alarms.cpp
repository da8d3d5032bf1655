#include "analysis/alarms/alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "model/info_keys.h"

namespace attune::analysis {
namespace {

using model::Alarm;
using model::AlarmState;
using model::ElementId;
using model::kAbsent;
using model::SeriesId;

/// The first sample of each such step of the clock is looked at: rates over less are noise, the cost is bounded, and
/// what is sampled at the same moments is judged by the same moments.
constexpr int64_t kStepNs = 500'000'000;
/// A value is known for that many intervals of its stream (and a moment, for the latches of others come later).
constexpr int64_t kFreshIntervals = 3;
constexpr int64_t kLatenessNs = 1'000'000'000;
constexpr int64_t kLatestNs = INT64_MAX / 16;
/// Values and thresholds are kept in thousandths.
constexpr int kScale = -3;

int64_t Thousandths(double value) { return std::llround(std::clamp(value, -9e15, 9e15) * 1000); }

/// One series that some rule looks at.
struct Track {
  model::Series series;
  int64_t patience_ns = 0;  ///< how old a value may be
  int64_t t_ns = kAbsent;   ///< of the newest sample that was looked at
  int64_t raw = kAbsent;
  std::optional<double> level;
  std::optional<double> rate;   ///< per second, in the unit
  std::optional<double> share;  ///< percent of the largest rate
  int64_t window_ns = 0;        ///< that the rate is of

  void Add(int64_t at_ns, int64_t value) {
    const int64_t before = std::exchange(raw, value);
    const int64_t before_ns = std::exchange(t_ns, at_ns);
    level.reset();
    rate.reset();
    share.reset();
    if (value == kAbsent) return;
    const double factor = std::pow(10.0, series.scale);
    level = static_cast<double>(value) * factor;
    // Nothing is known of the time in a gap; a counter that went back has wrapped or was reset.
    if (before == kAbsent || at_ns <= before_ns || at_ns - before_ns > patience_ns || value < before) return;
    window_ns = at_ns - before_ns;
    const double seconds = static_cast<double>(window_ns) / 1e9;
    const double raw_rate = (static_cast<double>(value) - static_cast<double>(before)) / seconds;
    rate = raw_rate * factor;
    if (series.max_per_second > 0) share = 100 * raw_rate / static_cast<double>(series.max_per_second);
  }

  bool FreshAt(int64_t now_ns) const { return t_ns != kAbsent && now_ns - t_ns <= patience_ns + kLatenessNs; }
};

using Tracks = std::vector<const Track*>;

/// The tracks of one condition of one element.
struct Terms {
  Tracks signals;
  Tracks over;
};

enum class View { kLevel, kRate, kShare };

std::optional<double> ValueOf(const Track& track, View view) {
  return view == View::kLevel ? track.level : view == View::kRate ? track.rate : track.share;
}

/// Of those that are known; nothing where none is.
std::optional<double> Sum(const Tracks& tracks, View view, int64_t now_ns) {
  std::optional<double> sum;
  for (const Track* track : tracks) {
    const auto value = track->FreshAt(now_ns) ? ValueOf(*track, view) : std::nullopt;
    if (value) sum = sum.value_or(0) + *value;
  }
  return sum;
}

std::optional<double> Largest(const Tracks& tracks, View view, int64_t now_ns) {
  std::optional<double> largest;
  for (const Track* track : tracks) {
    const auto value = track->FreshAt(now_ns) ? ValueOf(*track, view) : std::nullopt;
    if (value && (!largest || *value > *largest)) largest = value;
  }
  return largest;
}

/// CPUs that certainly idled while a task waited. Were all the idle time spent while nothing waited, it could be no
/// more than (1 - waiting) of every CPU's: what is beyond that was spent beside a queue.
std::optional<double> Overlap(const Terms& terms, int64_t now_ns) {
  const auto waiting = Largest(terms.over, View::kShare, now_ns);
  const auto idle = Sum(terms.signals, View::kShare, now_ns);
  if (!waiting || !idle) return std::nullopt;
  std::set<ElementId> cpus;
  for (const Track* track : terms.signals) {
    if (track->FreshAt(now_ns) && track->share) cpus.insert(track->series.element);
  }
  const double without_queue = (1 - std::min(*waiting, 100.0) / 100) * static_cast<double>(cpus.size());
  return std::max(0.0, *idle / 100 - without_queue);
}

/// Whether the rates that are known are of the same time, within a part of a step, and some of both sides are.
bool IsOfOneTime(const Terms& terms) {
  constexpr int64_t kTolerance = kStepNs / 8;
  const auto is_known = [](const Track* track) { return track->share.has_value(); };
  const auto first = std::find_if(terms.over.begin(), terms.over.end(), is_known);
  if (first == terms.over.end() || std::none_of(terms.signals.begin(), terms.signals.end(), is_known)) return false;
  return std::all_of(terms.signals.begin(), terms.signals.end(), [&](const Track* track) {
    return !is_known(track) || (std::abs(track->t_ns - (*first)->t_ns) <= kTolerance &&
                                std::abs(track->window_ns - (*first)->window_ns) <= kTolerance);
  });
}

std::optional<double> Undivided(AlarmMeasure measure, const Terms& terms, int64_t now_ns) {
  switch (measure) {
    case AlarmMeasure::kLevel: return Sum(terms.signals, View::kLevel, now_ns);
    case AlarmMeasure::kRate: return Sum(terms.signals, View::kRate, now_ns);
    case AlarmMeasure::kShare: return Largest(terms.signals, View::kShare, now_ns);
    case AlarmMeasure::kOverlap: return Overlap(terms, now_ns);
    case AlarmMeasure::kRatio:
    case AlarmMeasure::kMargin: break;
  }
  const auto part = Sum(terms.signals, View::kLevel, now_ns);
  const auto whole = Sum(terms.over, View::kLevel, now_ns);
  if (!part || !whole) return std::nullopt;
  if (measure == AlarmMeasure::kMargin) return *whole - *part;
  if (*whole <= 0) return std::nullopt;
  return 100 * *part / *whole;
}

std::optional<double> Measure(const AlarmCondition& condition, const Terms& terms, int64_t now_ns) {
  const auto value = Undivided(condition.measure, terms, now_ns);
  return value ? std::optional(*value / condition.per) : std::nullopt;
}

void Fill(std::string& text, std::string_view mark, std::string_view value) {
  if (const size_t at = text.find(mark); at != std::string::npos) text.replace(at, mark.size(), value);
}

bool Beyond(bool above, double value, double threshold) { return above ? value > threshold : value < threshold; }

/// One rule for one element.
struct Instance {
  size_t rule = 0;
  ElementId element = 0;
  Terms terms;
  std::vector<Terms> also;
  std::optional<double> value;
  int64_t judged_ns = kAbsent;  ///< when it last had a value
  int64_t holds_ns = kAbsent;   ///< since when it holds; kAbsent: it does not
  int64_t calm_ns = kAbsent;    ///< since when it does not hold any more, where it is raised
  int64_t raised_ns = kAbsent;
  int64_t raised_id = 0;  ///< 0: it is not raised
};

/// The columns of a stream that are looked at.
struct StreamPlan {
  int64_t interval_ns = 0;
  int64_t looked_ns = kAbsent;
  std::vector<std::pair<size_t, Track*>> columns;
  std::vector<Instance*> instances;  ///< judged after a row of this stream
};

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

int64_t NextLookNs(int64_t looked_ns, int64_t interval_ns) {
  // Samples lie a little before or after their grid point.
  const int64_t half_ns = std::clamp<int64_t>(interval_ns, 2, kStepNs) / 2;
  const int64_t at_ns = looked_ns + half_ns;
  const int64_t step = at_ns / kStepNs - (at_ns % kStepNs < 0 ? 1 : 0);
  return (step + 1) * kStepNs - half_ns;
}

class AlarmEvaluator::Impl {
 public:
  explicit Impl(const AlarmSettings& settings) : rules_(TuneAll(settings)) {
    const auto remember = [&](std::span<const AlarmSignal> signals) {
      for (const AlarmSignal& signal : signals) wanted_.insert({signal.sensor, signal.signal});
    };
    for (const TunedRule& tuned : rules_) {
      remember(tuned.rule->condition.signals);
      remember(tuned.rule->condition.over);
      for (const AlarmCondition& also : tuned.rule->also) {
        remember(also.signals);
        remember(also.over);
      }
    }
  }

  void Consume(const model::Batch& batch) {
    switch (batch.table) {
      case model::InfoRow::kTable: AddInfo(batch); break;
      case model::Element::kTable:
        for (const model::Element& element : model::RowsFrom<model::Element>(batch)) {
          if (element.kind == model::ElementKind::kMachine && machine_ == 0) machine_ = element.id;
          names_[element.id] = element.name;
        }
        break;
      case model::Series::kTable:
        for (const model::Series& series : model::RowsFrom<model::Series>(batch)) AddSeries(series);
        break;
      case model::StreamColumn::kTable:
        for (const model::Stream& stream : model::RowsFrom<model::Stream>(batch)) AddStream(stream);
        break;
      case model::Sample::kTable: AddSamples(batch); break;
      default: break;
    }
  }

  void Apply(const AlarmSettings& settings) {
    rules_ = TuneAll(settings);
    for (TunedRule& rule : rules_) rule.for_ns = std::min(rule.for_ns, most_for_ns_);
    for (TunedRule& rule : rules_) rule.clear_after_ns = std::min(rule.clear_after_ns, most_for_ns_);
  }
  void LimitFor(int64_t limit_ns) {
    most_for_ns_ = limit_ns;
    for (TunedRule& rule : rules_) rule.for_ns = std::min(rule.for_ns, limit_ns);
    for (TunedRule& rule : rules_) rule.clear_after_ns = std::min(rule.clear_after_ns, limit_ns);
  }

  std::vector<Alarm> Take() { return std::exchange(news_, {}); }
  std::vector<AlarmStatus> Status() const;
  const std::vector<TunedRule>& rules() const { return rules_; }
  bool JudgesSeries(SeriesId series) const { return tracks_.contains(series); }

 private:
  void AddInfo(const model::Batch& batch) {
    if (batch.texts.size() < 2) return;
    for (size_t row = 0; row < batch.rows; ++row) {
      std::string_view key = batch.texts[0][row];
      if (!key.starts_with(model::info::kSkippedPrefix)) continue;
      key.remove_prefix(model::info::kSkippedPrefix.size());
      skipped_[std::string(key)] = batch.texts[1][row];
    }
  }

  void AddSeries(const model::Series& series) {
    sensors_.insert(series.sensor);
    if (!wanted_.contains({series.sensor, series.signal})) return;
    std::unique_ptr<Track>& track = tracks_[series.id];
    if (track != nullptr) {
      track->series = series;
      return;
    }
    track = std::make_unique<Track>();
    track->series = series;
    for (size_t rule = 0; rule < rules_.size(); ++rule) Join(rule, *track);
  }

  /// Gives the track to the rule's instance for its element, if the rule looks at its signal.
  void Join(size_t index, const Track& track) {
    const AlarmRule& rule = *rules_[index].rule;
    const auto names = [&](std::span<const AlarmSignal> signals) {
      return std::any_of(signals.begin(), signals.end(), [&](const AlarmSignal& signal) {
        return signal.sensor == track.series.sensor && signal.signal == track.series.signal;
      });
    };
    const auto join = [&](const AlarmCondition& condition, auto terms_of) {
      if (names(condition.signals)) terms_of(InstanceOf(index, track)).signals.push_back(&track);
      if (names(condition.over)) terms_of(InstanceOf(index, track)).over.push_back(&track);
    };
    join(rule.condition, [](Instance& instance) -> Terms& { return instance.terms; });
    for (size_t i = 0; i < rule.also.size(); ++i)
      join(rule.also[i], [i](Instance& instance) -> Terms& { return instance.also[i]; });
  }

  Instance& InstanceOf(size_t index, const Track& track) {
    const AlarmRule& rule = *rules_[index].rule;
    std::unique_ptr<Instance>& instance = instances_[{index, rule.each ? track.series.element : 0}];
    if (instance == nullptr) {
      instance = std::make_unique<Instance>();
      instance->rule = index;
      instance->element = rule.each ? track.series.element : machine_;
      instance->also.resize(rule.also.size());
    }
    return *instance;
  }

  /// Series come before their stream, so that what it must be judged for is known.
  void AddStream(const model::Stream& stream) {
    StreamPlan plan;
    plan.interval_ns = stream.interval_ns;
    std::set<const Track*> here;
    for (size_t i = 0; i < stream.series.size(); ++i) {
      const auto found = tracks_.find(stream.series[i]);
      if (found == tracks_.end()) continue;
      plan.columns.emplace_back(i + 1, found->second.get());
      here.insert(found->second.get());
    }
    if (here.empty()) return;
    for (auto& [key, instance] : instances_) {
      const auto is_here = [&](const Track* track) { return here.contains(track); };
      const Terms& terms = instance->terms;
      // What must be of one time is judged when the last of it has come.
      const bool waits = IsOverlap(*instance) && std::any_of(terms.over.begin(), terms.over.end(), is_here);
      if (waits || std::any_of(terms.signals.begin(), terms.signals.end(), is_here))
        plan.instances.push_back(instance.get());
    }
    plans_[stream.id] = std::move(plan);
  }

  void AddSamples(const model::Batch& batch) {
    const auto found = plans_.find(batch.stream);
    if (found == plans_.end() || batch.rows == 0 || batch.ints.empty()) return;
    StreamPlan& plan = found->second;
    const std::vector<int64_t>& times = batch.ints[0];
    size_t row = 0;
    while (true) {
      if (plan.looked_ns != kAbsent) {
        const int64_t due_ns = NextLookNs(plan.looked_ns, plan.interval_ns);
        row = static_cast<size_t>(
            std::lower_bound(times.begin() + static_cast<std::ptrdiff_t>(row), times.end(), due_ns) - times.begin());
      }
      if (row >= batch.rows) return;
      // Times beyond are none of this world, and would overflow.
      if (std::abs(times[row] / 4) < kLatestNs) LookAt(plan, batch, row);
      ++row;
    }
  }

  void LookAt(StreamPlan& plan, const model::Batch& batch, size_t row) {
    const int64_t now_ns = batch.ints[0][row];
    plan.looked_ns = now_ns;
    const int64_t patience_ns = kFreshIntervals * std::max(kStepNs, plan.interval_ns);
    for (const auto& [column, track] : plan.columns) {
      track->patience_ns = patience_ns;
      track->Add(now_ns, column < batch.ints.size() ? batch.ints[column][row] : kAbsent);
    }
    for (Instance* instance : plan.instances) {
      if (!IsOverlap(*instance) || IsOfOneTime(instance->terms)) Judge(*instance, now_ns);
    }
    if (now_ns < swept_ns_ + kStepNs) return;
    // What is raised must be cleared also where no sample comes any more.
    swept_ns_ = now_ns;
    for (auto& [key, instance] : instances_) {
      if (instance->raised_id != 0 && now_ns - instance->judged_ns > PatienceOf(*instance)) Judge(*instance, now_ns);
    }
  }

  bool IsOverlap(const Instance& instance) const {
    return rules_[instance.rule].rule->condition.measure == AlarmMeasure::kOverlap;
  }

  static int64_t PatienceOf(const Instance& instance) {
    int64_t patience_ns = kFreshIntervals * kStepNs;
    for (const Track* track : instance.terms.signals) patience_ns = std::max(patience_ns, track->patience_ns);
    return patience_ns + kLatenessNs;
  }

  /// Whether what must hold besides does; false where that is not known.
  static bool AlsoHolds(const AlarmRule& rule, const Instance& instance, int64_t now_ns) {
    for (size_t i = 0; i < rule.also.size(); ++i) {
      const auto value = Measure(rule.also[i], instance.also[i], now_ns);
      if (!value || !Beyond(rule.also[i].above, *value, rule.also[i].threshold)) return false;
    }
    return true;
  }

  void Judge(Instance& instance, int64_t now_ns) {
    const TunedRule& tuned = rules_[instance.rule];
    const AlarmRule& rule = *tuned.rule;
    instance.value = tuned.on ? Measure(rule.condition, instance.terms, now_ns) : std::nullopt;
    if (!instance.value) {
      if (instance.raised_id != 0 && (!tuned.on || now_ns - instance.judged_ns > PatienceOf(instance)))
        Clear(instance, now_ns, tuned.on ? NameOf(instance.element) + " has no values any more" : "turned off");
      if (instance.raised_id == 0) instance.holds_ns = kAbsent;
      return;
    }
    // What it was before a gap says nothing of the time in it.
    if (instance.judged_ns != kAbsent && now_ns - instance.judged_ns > PatienceOf(instance)) {
      instance.holds_ns = kAbsent;
      instance.calm_ns = kAbsent;
    }
    instance.judged_ns = now_ns;
    const bool also = AlsoHolds(rule, instance, now_ns);
    if (instance.raised_id == 0) {
      const bool holds = also && Beyond(rule.condition.above, *instance.value, tuned.threshold);
      if (!holds) {
        instance.holds_ns = kAbsent;
      } else if (instance.holds_ns == kAbsent) {
        instance.holds_ns = now_ns;
      }
      if (holds && now_ns - instance.holds_ns >= tuned.for_ns) Raise(instance, now_ns);
      return;
    }
    const bool calm = !also || !Beyond(rule.condition.above, *instance.value, tuned.clear);
    if (!calm) {
      instance.calm_ns = kAbsent;
    } else if (instance.calm_ns == kAbsent) {
      instance.calm_ns = now_ns;
    }
    if (calm && now_ns - instance.calm_ns >= tuned.clear_after_ns) Clear(instance, now_ns, "");
  }

  Alarm Row(const Instance& instance, int64_t now_ns, AlarmState state) const {
    const TunedRule& tuned = rules_[instance.rule];
    Alarm row;
    row.t_ns = now_ns;
    row.id = instance.raised_id;
    row.state = state;
    row.severity = tuned.rule->severity;
    row.element = instance.element;
    row.series = instance.terms.signals.front()->series.id;
    row.value = instance.value ? Thousandths(*instance.value) : kAbsent;
    row.threshold = Thousandths(state == AlarmState::kRaised ? tuned.threshold : tuned.clear);
    row.scale = kScale;
    row.alarm = tuned.rule->name;
    row.unit = tuned.rule->unit;
    return row;
  }

  void Raise(Instance& instance, int64_t now_ns) {
    instance.raised_id = ++last_id_;
    instance.raised_ns = now_ns;
    instance.calm_ns = kAbsent;
    Alarm row = Row(instance, now_ns, AlarmState::kRaised);
    row.text = Sentence(instance);
    row.advice = rules_[instance.rule].rule->advice;
    news_.push_back(std::move(row));
  }

  void Clear(Instance& instance, int64_t now_ns, std::string_view why) {
    Alarm row = Row(instance, now_ns, AlarmState::kCleared);
    row.text = why.empty() ? Sentence(instance) : std::string(why);
    news_.push_back(std::move(row));
    instance.raised_id = 0;
    instance.raised_ns = kAbsent;
    instance.holds_ns = kAbsent;
    instance.calm_ns = kAbsent;
  }

  std::string NameOf(ElementId element) const {
    const auto found = names_.find(element);
    return found == names_.end() ? fmt::format("element {}", element) : found->second;
  }

  std::string Sentence(const Instance& instance) const {
    const AlarmRule& rule = *rules_[instance.rule].rule;
    std::string text(rule.text);
    Fill(text, "{where}", NameOf(instance.element));
    Fill(text, "{value}", FormatAlarmValue(instance.value.value_or(0), rule.unit));
    return text;
  }

  /// Whether all that is known of a signal is that there is none of it (no swap).
  bool IsZero(const AlarmSignal& signal) const {
    bool any = false;
    for (const auto& [id, track] : tracks_) {
      if (track->series.sensor != signal.sensor || track->series.signal != signal.signal || !track->level) continue;
      if (*track->level != 0) return false;
      any = true;
    }
    return any;
  }
  std::string WhyNotJudged(const AlarmRule& rule) const;
  void SortByUrgency(const AlarmRule& rule, std::vector<AlarmReading>& readings) const;

  std::vector<TunedRule> rules_;
  int64_t most_for_ns_ = INT64_MAX;
  std::set<std::pair<std::string_view, std::string_view>> wanted_;  ///< sensor and signal of every rule
  std::map<std::string, std::string> skipped_;                      ///< sensors that are not here, and why
  std::set<std::string> sensors_;                                   ///< those that are
  ElementId machine_ = 0;
  std::unordered_map<ElementId, std::string> names_;
  std::unordered_map<SeriesId, std::unique_ptr<Track>> tracks_;
  std::map<std::pair<size_t, ElementId>, std::unique_ptr<Instance>> instances_;
  std::map<model::StreamId, StreamPlan> plans_;
  int64_t swept_ns_ = INT64_MIN / 2;
  int64_t last_id_ = 0;
  std::vector<Alarm> news_;
};

/// Which of the signals that a rule needs is missing, in words.
std::string AlarmEvaluator::Impl::WhyNotJudged(const AlarmRule& rule) const {
  std::vector<AlarmSignal> needed{rule.condition.signals.front()};
  const auto add = [&](std::span<const AlarmSignal> signals) {
    if (!signals.empty()) needed.push_back(signals.front());
  };
  add(rule.condition.over);
  for (const AlarmCondition& also : rule.also) add(also.signals);
  for (const AlarmSignal& signal : needed) {
    const std::string sensor(signal.sensor);
    if (!sensors_.contains(sensor)) {
      const auto skipped = skipped_.find(sensor);
      return skipped == skipped_.end() ? fmt::format("the sensor {} is not sampled", sensor)
                                       : fmt::format("no sensor {} here: {}", sensor, skipped->second);
    }
    const bool is_there = std::any_of(tracks_.begin(), tracks_.end(), [&](const auto& entry) {
      return entry.second->series.sensor == signal.sensor && entry.second->series.signal == signal.signal;
    });
    if (!is_there) return fmt::format("the sensor {} has no signal {} here", sensor, signal.signal);
  }
  if (rule.condition.measure == AlarmMeasure::kShare) {
    const bool any_limit = std::any_of(tracks_.begin(), tracks_.end(), [&](const auto& entry) {
      const model::Series& series = entry.second->series;
      return series.sensor == needed.front().sensor && series.signal == needed.front().signal &&
             series.max_per_second > 0;
    });
    if (!any_limit)
      return fmt::format("the most that is possible of {}.{} is not known here", needed.front().sensor,
                         needed.front().signal);
  }
  if (rule.condition.measure == AlarmMeasure::kRatio && IsZero(rule.condition.over.front()))
    return fmt::format("{}.{} is 0 here", rule.condition.over.front().sensor, rule.condition.over.front().signal);
  if (rule.condition.measure == AlarmMeasure::kOverlap)
    return fmt::format("{} and {} are not sampled at the same moments", needed[0].sensor, needed[1].sensor);
  return fmt::format("{}.{} has no values", needed.front().sensor, needed.front().signal);
}

void AlarmEvaluator::Impl::SortByUrgency(const AlarmRule& rule, std::vector<AlarmReading>& readings) const {
  const double sign = rule.condition.above ? -1 : 1;
  const auto key = [&](const AlarmReading& reading) {
    return std::tuple(!reading.raised, !reading.value, sign * reading.value.value_or(0));
  };
  std::stable_sort(readings.begin(), readings.end(),
                   [&](const AlarmReading& a, const AlarmReading& b) { return key(a) < key(b); });
}

std::vector<AlarmStatus> AlarmEvaluator::Impl::Status() const {
  std::vector<AlarmStatus> all;
  for (const TunedRule& rule : rules_)
    all.push_back({rule, rule.on ? AlarmVerdict::kFine : AlarmVerdict::kOff, "", {}});
  for (const auto& [key, instance] : instances_) {
    AlarmStatus& status = all[instance->rule];
    if (!instance->value && instance->raised_id == 0) continue;
    const bool raised = instance->raised_id != 0;
    status.readings.push_back({instance->element, NameOf(instance->element), instance->value ? Sentence(*instance) : "",
                               instance->value, raised, raised ? instance->raised_ns : instance->holds_ns});
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

AlarmEvaluator::AlarmEvaluator(const AlarmSettings& settings) : impl_(std::make_unique<Impl>(settings)) {}
AlarmEvaluator::~AlarmEvaluator() = default;
AlarmEvaluator::AlarmEvaluator(AlarmEvaluator&&) noexcept = default;
AlarmEvaluator& AlarmEvaluator::operator=(AlarmEvaluator&&) noexcept = default;

void AlarmEvaluator::Consume(const model::Batch& batch) { impl_->Consume(batch); }
void AlarmEvaluator::Apply(const AlarmSettings& settings) { impl_->Apply(settings); }
void AlarmEvaluator::LimitFor(int64_t limit_ns) { impl_->LimitFor(limit_ns); }
std::vector<Alarm> AlarmEvaluator::Take() { return impl_->Take(); }
std::vector<AlarmStatus> AlarmEvaluator::Status() const { return impl_->Status(); }
const std::vector<TunedRule>& AlarmEvaluator::rules() const { return impl_->rules(); }
bool AlarmEvaluator::JudgesSeries(SeriesId series) const { return impl_->JudgesSeries(series); }

}  // namespace attune::analysis
