#include "cli/command.h"

namespace attune::cli {

std::vector<Command> MakeAllCommands() {
  std::vector<Command> commands;
  return commands;
}

}  // namespace attune::cli
