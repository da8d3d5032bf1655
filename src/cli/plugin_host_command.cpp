#include <grp.h>
#include <unistd.h>

#include "cli/commands.h"
#include "sensor/plugin/plugin_host.h"
#include "session/launch.h"
#include "sink/sink_host.h"

namespace attune::cli {
namespace {

/// Under sudo: as who called it.
Status BecomeInvokingUser() {
  const auto user = session::InvokingUser();
  if (!user) return {};
  if (initgroups(user->name.c_str(), user->gid) != 0 || setgid(user->gid) != 0 || setuid(user->uid) != 0)
    return ErrnoError("becoming " + user->name);
  return {};
}

}  // namespace

Command MakePluginHostCommand() {
  struct Options {
    std::string file;
    std::string argument;
    bool sink = false;
  };
  auto options = std::make_shared<Options>();
  Command command;
  command.name = "plugin-host";
  command.hidden = true;
  command.summary = "run one plug-in; attune starts this itself";
  command.positionals = {{"FILE", "The shared object", &options->file},
                         {"ARGUMENT", "Handed to the plug-in", &options->argument, false}};
  command.options = {{"--sink", "", "It is a sink; the argument comes with the data", &options->sink}};
  command.run = [options]() -> Result<int> {
    if (!options->sink) return sensor::RunPluginHost(options->file, options->argument);
    // What is written elsewhere needs none of the rights that observing needs.
    ATTUNE_CHECK_OK(BecomeInvokingUser());
    return sink::RunSinkHost(options->file);
  };
  return command;
}

}  // namespace attune::cli
