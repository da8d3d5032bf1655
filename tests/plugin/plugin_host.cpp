// What `attune plugin-host` runs, without the rest of attune: plug-ins of sensors and sinks are tested without building
// it.

#include <fmt/format.h>

#include <string>

#include "sensor/plugin/plugin_host.h"
#include "sink/sink_host.h"

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[2]) == "--sink") return attune::sink::RunSinkHost(argv[3]);
  if (argc == 4) return attune::sensor::RunPluginHost(argv[2], argv[3]);
  fmt::print(stderr, "usage: plugin_host plugin-host FILE ARGUMENT | plugin-host --sink FILE\n");
  return 2;
}
