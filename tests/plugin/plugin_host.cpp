// What `attune plugin-host` runs, without the rest of attune: plug-ins are tested without building
// it.

#include <fmt/format.h>

#include <string>

#include "module/module_host.h"
#include "sensor/plugin/plugin_host.h"
#include "sink/sink_host.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[2]) == "--module") return attune::modules::RunModuleHost(argv[3]);
  if (argc == 4 && std::string(argv[2]) == "--sink") return attune::sink::RunSinkHost(argv[3]);
  if (argc == 4) return attune::sensor::RunPluginHost(argv[2], argv[3]);
  fmt::print(stderr, "usage: plugin_host plugin-host FILE ARGUMENT | plugin-host --sink|--module FILE\n");
  return 2;
}
