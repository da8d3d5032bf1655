#pragma once
/// Parses the options -s and -i.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/host/membership.h"

namespace attune::cli {

/// How one sensor is asked for: "NAME[:sum][@INTERVAL]". NAME may be a file that describes a sensor, and NAME=PATH
/// reads its registers or files from PATH.
inline constexpr const char* kSensorGrammar = "NAME[:sum][@INTERVAL]";

/// @param lists of -s: items separated by commas; "none" alone: no sensor; no list: every sensor that attune has,
///        without those that need a program where there is none
/// @param interval of -i; empty: each sensor's own default. It holds for what -s names. Where -s names nothing, sensors
///        that are slow by nature (a default of 200 ms or more) are never sampled more often than that
Result<std::vector<session::SensorChoice>> ChooseSensors(const std::vector<std::string>& lists,
                                                         const std::string& interval, bool has_program);

}  // namespace attune::cli
