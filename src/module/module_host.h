#pragma once
/// The process that runs one monitoring module: `attune plugin-host --module FILE`, a command that only attune itself
/// calls, with the socket of module_channel.h.

#include <string>

namespace attune::modules {

/// Until the session ends it. @return exit code
int RunModuleHost(const std::string& file);

}  // namespace attune::modules
