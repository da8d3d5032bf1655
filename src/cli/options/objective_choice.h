#pragma once
/// Checks what --objective of `attune tune` names.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/sampling/sensor_choice.h"

namespace attune::cli {

/// Checks the formula's syntax and signals, and has sensors sampled that it needs and that were not asked for. An
/// objective that is no formula is left alone. Error: kInvalidArgument, with the nearest names
Status AddObjectiveSensors(const std::string& objective, std::vector<session::SensorChoice>& sensors);

}  // namespace attune::cli
