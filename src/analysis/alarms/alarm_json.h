#pragma once
/// Alarms as JSON, for `attune alarms --json`, `attune info --json` and `attune ctl alarms`.

#include <nlohmann/json.hpp>
#include <span>

#include "analysis/alarms/alarms.h"

namespace attune::analysis {

/// An array with an object a rule: alarm, state (ok, raised, cannot be judged, off), severity, unit, threshold, and its
/// readings. @param origin_ns times are seconds after it
nlohmann::ordered_json ToJson(std::span<const AlarmStatus> status, int64_t origin_ns = 0);
/// An array with an object a row of the table: when it was raised or cleared.
nlohmann::ordered_json ToJson(std::span<const model::Alarm> alarms, int64_t origin_ns = 0);

}  // namespace attune::analysis
