#pragma once
/// Sinks that there are: attune's own and those that others added, each a shared object.

#include <string>
#include <string_view>
#include <vector>

#include "base/plugin_files.h"
#include "base/result.h"

namespace attune::sink {

/// The folders in which NAME.so is the sink NAME (base/plugin_files.h).
std::vector<std::string> SinkFolders();

/// An argument of --sink.
using SinkChoice = PluginChoice;

/// "NAME[=ARGUMENT]", or "FILE.so[=ARGUMENT]". Errors: kInvalidArgument with the nearest names.
/// @param what names the option in errors
Result<SinkChoice> FindSink(std::string_view text, std::string_view what,
                            const std::vector<std::string>& folders = SinkFolders());

/// The self-description of a sink that is not opened. Errors: why it cannot be used.
struct SinkDescription {
  std::string name;
  std::string file;
  std::string description;
  std::string argument;  ///< description of its argument
};
/// @param program has the command plugin-host @cost a process, some ms
Result<SinkDescription> Describe(const PluginFile& file, const std::string& program = "/proc/self/exe");

}  // namespace attune::sink
