#include "analysis/alarms/alarm_json.h"

#include <cmath>

#include "analysis/documents/json_rows.h"

namespace attune::analysis {
namespace {

Json Seconds(int64_t t_ns, int64_t origin_ns) {
  if (t_ns == model::kAbsent) return nullptr;
  return static_cast<double>(t_ns - origin_ns) / 1e9;
}

Json Number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json Scaled(int64_t value, int scale) {
  if (value == model::kAbsent) return nullptr;
  return static_cast<double>(value) * std::pow(10.0, scale);
}

Json ToJson(const AlarmReading& reading, int64_t origin_ns) {
  return {{"element", reading.element}, {"where", reading.where},
          {"text", reading.text},       {"value", Number(reading.value)},
          {"raised", reading.raised},   {"since_s", Seconds(reading.since_ns, origin_ns)}};
}

}  // namespace

Json ToJson(std::span<const AlarmStatus> status, int64_t origin_ns) {
  return JsonRows(status, [origin_ns](const AlarmStatus& rule) -> Json {
    const AlarmRule& what = *rule.rule.rule;
    const auto reading = [origin_ns](const AlarmReading& row) { return ToJson(row, origin_ns); };
    return {{"alarm", what.name},
            {"state", ToString(rule.verdict)},
            {"severity", model::ToString(what.severity)},
            {"description", what.description},
            {"of_each", what.condition.series.each},
            {"unit", what.unit()},
            {"threshold", rule.rule.threshold},
            {"side", what.condition.above ? "above" : "below"},
            {"clear", rule.rule.clear},
            {"for_s", static_cast<double>(rule.rule.for_ns) / 1e9},
            {"why", rule.why},
            {"advice", what.advice},
            {"readings", JsonRows(rule.readings, reading)}};
  });
}

Json ToJson(std::span<const model::Alarm> alarms, int64_t origin_ns) {
  return JsonRows(alarms, [origin_ns](const model::Alarm& alarm) -> Json {
    return {{"t_s", Seconds(alarm.t_ns, origin_ns)},
            {"t_ns", alarm.t_ns},
            {"id", alarm.id},
            {"state", model::ToString(alarm.state)},
            {"alarm", alarm.alarm},
            {"severity", model::ToString(alarm.severity)},
            {"element", alarm.element},
            {"value", Scaled(alarm.value, alarm.scale)},
            {"threshold", Scaled(alarm.threshold, alarm.scale)},
            {"unit", alarm.unit},
            {"text", alarm.text},
            {"advice", alarm.advice}};
  });
}

}  // namespace attune::analysis
