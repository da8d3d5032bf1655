#include "analysis/alarms/alarm_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/units.h"

namespace attune::analysis {
namespace {

constexpr std::string_view kAll = "all";
/// Beyond this no value goes; alarms keep values in thousandths of an int64.
constexpr double kLargest = 1e15;

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool IsPercent(const AlarmRule& rule) { return rule.unit() == "%"; }

/// Factor from `unit` to the rule's unit; nullopt: a unit of another quantity.
std::optional<double> FactorOf(const AlarmRule& rule, std::string_view unit) {
  if (unit.empty() || unit == rule.unit()) return 1;
  // "pages/s" may be said as "/s", "degC" as "C".
  if (rule.unit().ends_with("/s") && unit == "/s") return 1;
  if (rule.unit() == "degC" && (unit == "C" || unit == "°C")) return 1;
  if (!rule.unit().starts_with("bytes")) return std::nullopt;
  const bool is_rate = rule.unit().ends_with("/s");
  if (is_rate && unit.ends_with("/s")) unit.remove_suffix(2);
  const auto bytes = ParseBytes("1" + std::string(unit), "");
  return bytes.ok() ? std::optional<double>(static_cast<double>(*bytes)) : std::nullopt;
}

/// `clear` for a changed threshold: it moves along, so that the alarm neither flaps nor stays for ever.
double MovedClear(const AlarmRule& rule, double threshold) {
  const double before = rule.condition.threshold;
  // A percentage that has to rise again has the more way to 100 the lower it is.
  if (IsPercent(rule) && !rule.condition.above)
    return threshold + (100 - threshold) * (rule.clear - before) / (100 - before);
  return before > 0 ? threshold * (rule.clear / before) : threshold;
}

Error BadThreshold(const AlarmRule& rule, std::string_view text, std::string_view why) {
  const std::string example = FormatAlarmValue(rule.condition.threshold, rule.unit());
  return {Errc::kInvalidArgument, fmt::format("alarm {}: '{}' {}", rule.name, text, why),
          fmt::format("as in {0}={1} (its default), or {0}=off", rule.name, example)};
}

}  // namespace

TunedRule Tune(const AlarmRule& rule, const AlarmSetting& setting) {
  TunedRule tuned{&rule,       setting.on.value_or(rule.on), rule.condition.threshold, rule.clear,
                  rule.for_ns, rule.clear_after_ns};
  if (setting.threshold) {
    tuned.threshold = *setting.threshold;
    tuned.clear = MovedClear(rule, *setting.threshold);
  }
  if (setting.clear) tuned.clear = *setting.clear;
  if (setting.for_ns) {
    tuned.for_ns = *setting.for_ns;
    if (rule.clear_after_ns == rule.for_ns) tuned.clear_after_ns = *setting.for_ns;
  }
  return tuned;
}

std::vector<TunedRule> TuneAll(const AlarmSettings& settings) {
  std::vector<TunedRule> rules;
  for (const AlarmRule& rule : AlarmRules()) {
    const auto found = settings.find(std::string(rule.name));
    rules.push_back(Tune(rule, found == settings.end() ? AlarmSetting() : found->second));
  }
  return rules;
}

Result<const AlarmRule*> FindAlarmRule(std::string_view name) {
  std::vector<std::string> names;
  for (const AlarmRule& rule : AlarmRules()) {
    if (rule.name == name) return &rule;
    names.emplace_back(rule.name);
  }
  std::string hint = DidYouMean(name, names);
  if (!hint.empty()) hint += ' ';
  return Error{Errc::kInvalidArgument, fmt::format("there is no alarm '{}'", name),
               hint + "`attune alarms --list` shows all"};
}

Result<double> ParseAlarmThreshold(const AlarmRule& rule, std::string_view text) {
  const std::string_view trimmed = Trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
  if (error != std::errc()) return BadThreshold(rule, text, "is no number");
  const std::string_view unit = Trim(trimmed.substr(static_cast<size_t>(end - trimmed.data())));
  const std::optional<double> factor = FactorOf(rule, unit);
  if (!factor) {
    return BadThreshold(
        rule, text,
        rule.unit().empty() ? "has a unit, and it is a bare number" : fmt::format("is not in {}", rule.unit()));
  }
  value *= *factor;
  if (!std::isfinite(value) || std::abs(value) > kLargest) return BadThreshold(rule, text, "is out of all reason");
  if (value < 0) return BadThreshold(rule, text, "is negative");
  if (IsPercent(rule) && value > 100) return BadThreshold(rule, text, "is more than 100 %");
  return value;
}

Status AddAlarmSetting(std::string_view text, AlarmSettings& settings) {
  const size_t equals = text.find('=');
  const std::string_view name = Trim(text.substr(0, equals));
  if (equals == std::string_view::npos || name.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("alarm: '{}' is not NAME=VALUE", text),
                 "as in storage.space=10%, or storage.space=off; `attune alarms --list` shows the names"};
  }
  const std::string_view value = Trim(text.substr(equals + 1));
  if (name == kAll) {
    if (value != "off") {
      return Error{Errc::kInvalidArgument, fmt::format("alarm: all={} makes no sense", value),
                   "all=off turns every alarm off; values are given to each by its name"};
    }
    for (const AlarmRule& rule : AlarmRules()) settings[std::string(rule.name)].on = false;
    return {};
  }
  ATTUNE_TRY(const AlarmRule* rule, FindAlarmRule(name));
  AlarmSetting& setting = settings[std::string(name)];
  if (value == "off" || value == "on") {
    setting.on = value == "on";
    return {};
  }
  ATTUNE_TRY(const double threshold, ParseAlarmThreshold(*rule, value));
  setting = {.on = true, .threshold = threshold, .for_ns = setting.for_ns};
  return {};
}

void MergeAlarmSettings(const AlarmSettings& more, AlarmSettings& settings) {
  for (const auto& [name, news] : more) {
    AlarmSetting& setting = settings[name];
    if (news.on) setting.on = news.on;
    if (news.threshold) {
      setting.threshold = news.threshold;
      setting.clear = news.clear;  // the old `clear` belongs to the old threshold
    }
    if (news.clear) setting.clear = news.clear;
    if (news.for_ns) setting.for_ns = news.for_ns;
  }
}

std::string ToText(std::span<const TunedRule> rules) {
  std::string text;
  for (const TunedRule& tuned : rules) {
    if (!text.empty()) text += ';';
    if (tuned.on) {
      text += fmt::format("{}={} {} {}", tuned.rule->name, tuned.threshold, tuned.clear, tuned.for_ns);
    } else {
      text += fmt::format("{}=off", tuned.rule->name);
    }
  }
  return text;
}

AlarmSettings AlarmSettingsFromText(std::string_view text) {
  AlarmSettings settings;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string name(item.substr(0, equals));
    if (!FindAlarmRule(name).ok()) continue;
    std::string_view rest = item.substr(equals + 1);
    if (rest == "off") {
      settings[name].on = false;
      continue;
    }
    std::array<double, 3> numbers{};
    size_t count = 0;
    for (; count < numbers.size(); ++count) {
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), numbers[count]);
      if (error != std::errc() || !std::isfinite(numbers[count]) || std::abs(numbers[count]) > 1e18) break;
      rest = Trim(rest.substr(static_cast<size_t>(end - rest.data())));
    }
    if (count < numbers.size() || !rest.empty() || numbers[2] < 0) continue;
    settings[name] = {true, numbers[0], numbers[1], static_cast<int64_t>(numbers[2])};
  }
  return settings;
}

std::string FormatAlarmValue(double value, std::string_view unit) {
  if (unit.starts_with("bytes")) {
    return FormatBytes(static_cast<uint64_t>(std::clamp(value, 0.0, 1e18))) + std::string(unit.substr(5));
  }
  std::string number;
  if (std::abs(value) >= 10'000) {
    number = FormatCount(value);
  } else {
    number = fmt::format("{:.{}f}", value, std::abs(value) < 1 ? 2 : 1);
    number.resize(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
  }
  return unit.empty() ? number : fmt::format("{} {}", number, unit);
}

}  // namespace attune::analysis
