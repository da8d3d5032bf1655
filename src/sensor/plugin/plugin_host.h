#pragma once
/// The process that runs one plug-in (include/attune/plugin.h): `attune plugin-host FILE ARGUMENT`, a command that only
/// attune itself calls, with the descriptors of plugin_channel.h.

#include <string>

namespace attune::sensor {

/// Until the session ends it. @return exit code
int RunPluginHost(const std::string& file, const std::string& argument);

}  // namespace attune::sensor
