#include "sink/found_sinks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "base/units.h"
#include "sink/host_process.h"

namespace attune::sink {

namespace fs = std::filesystem;

std::vector<std::string> SinkFolders() { return PluginFolders("sinks", "lib"); }

Result<SinkChoice> FindSink(std::string_view text, std::string_view what, const std::vector<std::string>& folders) {
  NameAndRest split = SplitAtEquals(text);
  if (split.name.empty()) {
    return Error{Errc::kInvalidArgument, fmt::format("{}: '{}' is not NAME[=ARGUMENT]", what, text),
                 "attune list sinks shows the names"};
  }
  if (split.name.find('/') != std::string::npos || split.name.ends_with(".so")) {
    std::error_code error;
    const fs::path file = fs::absolute(split.name, error);
    if (error || ::access(file.c_str(), R_OK) != 0) return ErrnoError(fmt::format("{}: {}", what, split.name));
    return SinkChoice{file.stem().string(), file.string(), std::move(split.rest)};
  }
  std::vector<std::string> names;
  for (PluginFile& found : FindPluginFiles(folders, {".so"})) {
    if (found.name == split.name) return SinkChoice{found.name, found.file, std::move(split.rest)};
    names.push_back(std::move(found.name));
  }
  std::string hint = DidYouMean(split.name, names);
  if (!hint.empty()) hint += ' ';
  return Error{Errc::kInvalidArgument, fmt::format("{}: there is no sink '{}'", what, split.name),
               hint + "`attune list sinks` shows all"};
}

Result<SinkDescription> Describe(const PluginFile& file, const std::string& program) {
  ATTUNE_TRY(HostProcess host, HostProcess::Start(file.file, program, ""));
  ATTUNE_TRY(const SinkHello hello, host.Greet(file.file));
  return SinkDescription{hello.name, file.file, hello.description, hello.argument};
}

}  // namespace attune::sink
