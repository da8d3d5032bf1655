#include "sink/found_sinks.h"

#include "sink/host_process.h"

namespace attune::sink {

std::vector<std::string> SinkFolders() { return PluginFolders("sinks", "lib"); }

Result<SinkChoice> FindSink(std::string_view text, std::string_view what, const std::vector<std::string>& folders) {
  return FindPlugin(text, what, "sink", folders);
}

Result<SinkDescription> Describe(const PluginFile& file, const std::string& program) {
  ATTUNE_TRY(HostProcess host, HostProcess::Start(file.file, program, ""));
  ATTUNE_TRY(const SinkHello hello, host.Greet(file.file));
  return SinkDescription{hello.name, file.file, hello.description, hello.argument};
}

}  // namespace attune::sink
