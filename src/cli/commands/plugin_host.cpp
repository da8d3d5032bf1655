#include "sensor/plugin/plugin_host.h"
#include "cli/command.h"
#include "module/module_host.h"
#include "sink/sink_host.h"

namespace attune::cli {
Command MakePluginHostCommand() {
  struct Options {
    std::string file;
    std::string argument;
    bool sink = false, module = false;
  };
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "plugin-host";
  command.rank = 200;
  command.hidden = true;
  command.summary = "run one plug-in; attune starts this itself";
  command.positionals = {{"FILE", "The shared object", &options->file},
                         {"ARGUMENT", "Handed to the plug-in", &options->argument, false}};
  command.options = {{"--sink", "", "It is a sink; the argument comes with the data", &options->sink},
                     {"--module", "", "It is a monitoring module, as a sink is", &options->module}};
  command.run = [options]() -> Result<int> {
    if (options->module) return modules::RunModuleHost(options->file);
    if (!options->sink) return sensor::RunPluginHost(options->file, options->argument);
    return sink::RunSinkHost(options->file);
  };
  return command;
}

}  // namespace attune::cli
