#include <cstdio>

#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/terminal/output.h"

namespace attune::cli {

Command MakeCompletionCommand() {
  auto shell = std::make_shared<std::string>();
  Command command;
  command.name = "completion";
  command.rank = 170;
  command.summary = "print the completion script of a shell";
  command.description =
      "Subcommands, options, sensors, levels, formats, sessions and recordings are completed; from the observed "
      "program's name on, its own command line is.";
  command.positionals = {
      {"SHELL", "bash, zsh or fish", shell.get(), true, Complete::kNothing, {"bash", "zsh", "fish"}}};
  command.examples = {
      {"source <(attune completion bash)", "in this shell; put it into ~/.bashrc for every shell"},
      {"attune completion zsh > ~/.zfunc/_attune", "for zsh, with ~/.zfunc in $fpath"},
      {"attune completion fish > ~/.config/fish/completions/attune.fish", "for fish"},
  };
  command.run = [shell]() -> Result<int> {
    ATTUNE_TRY(const std::string script, CompletionScript(*shell, MakeAllCommands()));
    std::fwrite(script.data(), 1, script.size(), stdout);
    return FinishOutput();
  };
  return command;
}

}  // namespace attune::cli
