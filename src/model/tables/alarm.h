#pragma once
#include "model/table.h"

namespace attune::model {

enum class AlarmState : uint8_t {
  kRaised = 1,
  kCleared,
};
template <>
struct Words<AlarmState> {
  static constexpr std::array<std::string_view, 3> kAll{"?", "raised", "cleared"};
};

enum class AlarmSeverity : uint8_t {
  kWarning = 1,
  kCritical,
};
template <>
struct Words<AlarmSeverity> {
  static constexpr std::array<std::string_view, 3> kAll{"?", "warning", "critical"};
};

/// A moment at which an alarm was raised or cleared. Between the two rows of one id it is on; without a second row it
/// still is.
struct Alarm {
  int64_t t_ns = 0;
  int64_t id = 0;
  AlarmState state = AlarmState::kRaised;
  AlarmSeverity severity = AlarmSeverity::kWarning;
  ElementId element = 0;
  SeriesId series = 0;
  int64_t value = kAbsent;
  int64_t threshold = kAbsent;
  int scale = 0;
  std::string alarm;
  std::string unit;
  std::string text;
  std::string advice;

  bool operator==(const Alarm&) const = default;

  static constexpr Table kTable{17};
  static constexpr TableText kText{.name = "alarms",
                                   .about = "an alarm that was raised, or the one of that id cleared (alarms.md)",
                                   .storage = Storage::kAppended,
                                   .time = "t_ns"};
  template <class Visit>
  static constexpr auto Columns(const Visit& visit) {
    return visit(
        Col(&Alarm::t_ns, "t_ns", Role::kTime, "ns", "when"),
        Col(&Alarm::id, "id", Role::kCounted, "", "counts what was raised in a recording, from 1"),
        Col(&Alarm::state, "state", Role::kCode, "", "what happened"),
        Col(&Alarm::alarm, "alarm", Role::kText, "", "the rule's name: memory.thrashing"),
        Col(&Alarm::severity, "severity", Role::kCode, "", "how bad it is"),
        Col(&Alarm::element, "element", Role::kElement, "", "what it is about"),
        Col(&Alarm::series, "series", Role::kSeries, "",
            "whose values it was found in: the first, where there are several"),
        Col(&Alarm::value, "value", Role::kInteger, "", "in units of 10^scale unit; NULL: the values have ended"),
        Col(&Alarm::threshold, "threshold", Role::kInteger, "", "where it is raised, or cleared; as value"),
        Col(&Alarm::scale, "scale", Role::kScale, "", "of value and threshold"),
        Col(&Alarm::unit, "unit", Role::kText, "", "of value and threshold: %, 1/s, degC"),
        Col(&Alarm::text, "text", Role::kText, "", "one sentence: what, where, how much"),
        Col(&Alarm::advice, "advice", Role::kText, "", "what to do about it; empty when cleared"));
  }
};

}  // namespace attune::model
