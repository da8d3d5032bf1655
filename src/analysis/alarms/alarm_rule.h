#pragma once
/// Alarm rules as data, from catalog/alarms/alarms.toml, and the user's settings for them.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/schema.h"

namespace attune::analysis {

/// How the values of several signals combine. Rates are those of counters, over about half a second.
enum class AlarmMeasure : uint8_t {
  kLevel,    ///< their sum, in the signals' unit
  kRate,     ///< the sum of their rates a second
  kShare,    ///< the largest of their rates, in percent of the largest possible rate
  kRatio,    ///< the sum of their levels, in percent of the sum of those of `over`
  kMargin,   ///< the sum of the levels of `over`, minus that of their levels
  kOverlap,  ///< from idle times of CPUs and the waiting time of tasks (`over`): CPUs certainly idle beside a queue
};

struct AlarmSignal {
  std::string_view sensor;
  std::string_view signal;
};

struct AlarmCondition {
  AlarmMeasure measure;
  std::span<const AlarmSignal> signals;
  std::span<const AlarmSignal> over;
  bool above;  ///< the condition holds above the threshold; else below it; never at the threshold itself
  double threshold;
  double per;  ///< divisor of the value, to get the threshold's unit
};

struct AlarmRule {
  std::string_view name;  ///< "memory.low"
  model::AlarmSeverity severity;
  std::string_view description;  ///< what is measured
  std::string_view unit;         ///< of the thresholds; "": a bare number
  std::string_view text;         ///< with {where} and {value} as placeholders
  std::string_view advice;
  bool each;  ///< an alarm for every element that has the signals; else one, of all elements together
  AlarmCondition condition;
  std::span<const AlarmCondition> also;  ///< must hold at the same time, of the same elements
  double clear;                          ///< the threshold at which it is cleared
  int64_t for_ns;                        ///< how long it must hold
  int64_t clear_after_ns;                ///< how long it must not hold
  bool on;                               ///< whether the rule is on by default
};

/// All rules, in the order of the catalog.
std::span<const AlarmRule> AlarmRules();

/// The user's changes to a rule; unset fields keep the rule's values.
struct AlarmSetting {
  std::optional<bool> on;
  std::optional<double> threshold;  ///< `clear` moves in proportion if it is not set
  std::optional<double> clear;
  std::optional<int64_t> for_ns;  ///< also for clearing, if the rule has one time for both

  bool operator==(const AlarmSetting&) const = default;
};
/// By the rule's name.
using AlarmSettings = std::map<std::string, AlarmSetting>;

/// A rule as it is applied.
struct TunedRule {
  const AlarmRule* rule = nullptr;
  bool on = true;
  double threshold = 0;
  double clear = 0;
  int64_t for_ns = 0;
  int64_t clear_after_ns = 0;
};
TunedRule Tune(const AlarmRule& rule, const AlarmSetting& setting);
/// Every rule with its setting.
std::vector<TunedRule> TuneAll(const AlarmSettings& settings);

/// Errors: kInvalidArgument with the nearest names.
Result<const AlarmRule*> FindAlarmRule(std::string_view name);

/// Parses a number with or without the rule's unit: "90", "90 %", "90%", "1.5 GB/s" for bytes/s.
/// @return kInvalidArgument: no number, another unit, an impossible value
Result<double> ParseAlarmThreshold(const AlarmRule& rule, std::string_view text);
/// Parses "NAME=VALUE[unit]", "NAME=off", "NAME=on" or "all=off" (--alarm, `attune ctl alarm`, the control FIFO) and
/// adds it to `settings`, whose other entries stay.
Status AddAlarmSetting(std::string_view text, AlarmSettings& settings);
/// Merges `more` into `settings`; `more` takes precedence.
void MergeAlarmSettings(const AlarmSettings& more, AlarmSettings& settings);

/// All applied rules as text, "memory.low=5;storage.space=off;...", which a recording keeps, and the inverse.
std::string ToText(std::span<const TunedRule> rules);
/// Unknown names and invalid values are left out.
AlarmSettings AlarmSettingsFromText(std::string_view text);

/// "4.5 %", "12.3 MB/s", "88 degC".
std::string FormatAlarmValue(double value, std::string_view unit);

}  // namespace attune::analysis
