#pragma once
/// The process that runs one sink (include/attune/plugin.h): `attune plugin-host --sink FILE`, a command that only
/// attune itself calls, with the socket of sink_channel.h.

#include <string>

namespace attune::sink {

/// Until the session ends it. @return exit code
int RunSinkHost(const std::string& file);

}  // namespace attune::sink
