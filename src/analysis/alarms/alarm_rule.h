#pragma once
/// Alarms as data: rules over derived series, from catalog/alarms/alarms.toml, and how they can be tuned.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/derived/derived_series.h"
#include "base/result.h"
#include "model/schema.h"

namespace attune::analysis {

struct AlarmCondition {
  DerivedSeries series;
  bool above;  ///< holds beyond the threshold upwards; else downwards. The threshold itself is on neither side
  double threshold;
};

struct AlarmRule {
  std::string_view name;  ///< "memory.low"
  model::AlarmSeverity severity;
  std::string_view description;  ///< measured quantity
  std::string_view text;         ///< {where} and {value} are filled in
  std::string_view advice;
  AlarmCondition condition;
  std::span<const AlarmCondition> also;  ///< must hold at the same time, of the same elements
  double clear;                          ///< the threshold at which it is cleared
  int64_t for_ns;                        ///< how long it must hold
  int64_t clear_after_ns;                ///< how long it must not hold
  bool on;                               ///< whether it is judged where nobody says anything

  /// That of the thresholds.
  std::string_view unit() const { return condition.series.unit; }
};

/// All rules, in the order of the catalog.
std::span<const AlarmRule> AlarmRules();

/// Overrides of a rule; members that are not set keep the rule's values.
struct AlarmSetting {
  std::optional<bool> on;
  std::optional<double> threshold;  ///< if `clear` is not set, it moves in proportion
  std::optional<double> clear;
  std::optional<int64_t> for_ns;  ///< also for clearing, where the rule has one time for both

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

/// A number and, unless it is bare, the rule's unit: "90", "90 %", "90%", "1.5 GB/s" where the unit is bytes/s.
/// @return kInvalidArgument: no number, another unit, nothing that the value could ever be
Result<double> ParseAlarmThreshold(const AlarmRule& rule, std::string_view text);
/// "NAME=VALUE[unit]", "NAME=off", "NAME=on", "all=off", as --alarm, `attune ctl alarm` and the control FIFO have it.
/// Entries that `settings` already has stay in force unless the text overrides them.
Status AddAlarmSetting(std::string_view text, AlarmSettings& settings);
/// Lays `more` over `settings`.
void MergeAlarmSettings(const AlarmSettings& more, AlarmSettings& settings);

/// Every rule as it is applied, and back: "memory.low=5;storage.space=off;...". What a recording says of itself.
std::string ToText(std::span<const TunedRule> rules);
/// Names that are not known (any more) are left out, and so are values that are not understood.
AlarmSettings AlarmSettingsFromText(std::string_view text);

/// "4.5 %", "12.3 MB/s", "88 degC".
std::string FormatAlarmValue(double value, std::string_view unit);

}  // namespace attune::analysis
