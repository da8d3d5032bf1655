#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/help/help.h"
#include "cli/help/usage_error.h"
#include "cli/terminal/output.h"

namespace attune::cli {

Command MakeHelpCommand() {
  auto wanted = std::make_shared<std::string>();
  Command command;
  command.name = "help";
  command.rank = 160;
  command.summary = "describe a subcommand, with examples";
  command.positionals = {{"SUBCOMMAND", "Which one. Default: a list of all", wanted.get(), false, Complete::kCommand}};
  command.examples = {{"attune help run", "the same as attune run --help"}};
  command.run = [wanted]() -> Result<int> {
    const std::vector<Command> commands = MakeAllCommands();
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const Command& each) { return each.name == *wanted; });
    if (!wanted->empty() && found == commands.end()) return UnknownSubcommand(*wanted, commands);
    std::fputs((wanted->empty() ? HelpText(commands, HelpWidth()) : HelpText(*found, HelpWidth())).c_str(), stdout);
    return FinishOutput();
  };
  return command;
}

}  // namespace attune::cli
