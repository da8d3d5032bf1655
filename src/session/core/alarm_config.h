#pragma once
/// A user's settings of alarms: a file, and options that override it.

#include <string>
#include <string_view>
#include <vector>

#include "analysis/alarms/alarm_rule.h"
#include "base/result.h"

namespace attune::session {

/// A TOML file of settings: `memory.low = "10 %"`, `storage.space = "off"`, or a table `[memory.low]` with threshold,
/// clear, for and on. @param text foreign bytes  @param file how messages call it
Result<analysis::AlarmSettings> ParseAlarmFile(std::string_view text, const std::string& file);

/// ConfigFile("alarms.toml") (where there is one), or `file` instead of it, and over that the options, in their order.
/// @param file of --alarms; empty: the default  @param options of --alarm: NAME=VALUE
Result<analysis::AlarmSettings> ChooseAlarms(const std::string& file, const std::vector<std::string>& options);

}  // namespace attune::session
