#include <CLI/CLI.hpp>
#include <csignal>

#include "base/units.h"
#include "cli/command.h"
#include "cli/version.h"

namespace attune::cli {
namespace {

constexpr const char* kAbout =
    "attune watches a running parallel program, finds what holds it back, and changes it while it runs.\n"
    "Begin with: attune run -- PROGRAM";

std::string ExamplesText(const Command& command) {
  std::string text;
  if (!command.examples.empty()) text += "EXAMPLES\n";
  for (const Example& example : command.examples) text += "  " + example.command + "\n      " + example.what + "\n";
  return text;
}

void AddOption(CLI::App& app, const Option& option) {
  CLI::Option* added = std::visit(
      [&](auto* target) -> CLI::Option* {
        if constexpr (std::is_same_v<decltype(target), bool*>) {
          return app.add_flag(option.flags, *target, option.help);
        } else {
          return app.add_option(option.flags, *target, option.help);
        }
      },
      option.target);
  if (std::holds_alternative<bool*>(option.target)) return;
  added->type_name(option.value);
  if (std::holds_alternative<std::vector<std::string>*>(option.target)) added->allow_extra_args(false);
}

void AddCommand(CLI::App& app, const Command& command, const Command*& chosen) {
  CLI::App* sub = app.add_subcommand(command.name, command.summary);
  if (!command.description.empty()) sub->description(command.summary + "\n\n" + command.description);
  sub->footer(ExamplesText(command));
  if (command.hidden) sub->group("");
  for (const Option& option : command.options) AddOption(*sub, option);
  for (const Positional& positional : command.positionals) {
    CLI::Option* added = std::visit(
        [&](auto* target) { return sub->add_option(positional.name, *target, positional.help); }, positional.target);
    added->type_name("");
    if (positional.required) added->required();
  }
  if (command.program != nullptr) {
    // Everything from the program's name on is the program's, its options too.
    sub->prefix_command();
  }
  sub->callback([&chosen, &command, sub] {
    chosen = &command;
    if (command.program != nullptr) {
      *command.program = sub->remaining();
      if (!command.program->empty() && command.program->front() == "--")
        command.program->erase(command.program->begin());
    }
  });
}

/// CLI11's usage errors in our words: with the nearest subcommand, and exit code 2.
int UsageError(const CLI::App& app, const CLI::ParseError& error, const std::vector<Command>& commands,
               const char* first) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::vector<std::string> names;
  bool known = false;
  for (const Command& command : commands) {
    names.push_back(command.name);
    known = known || (first != nullptr && command.name == first);
  }
  if (first != nullptr && first[0] != '-' && !known) {
    const std::string nearest = DidYouMean(first, names);
    PrintError({Errc::kInvalidArgument, std::string("there is no subcommand '") + first + "'",
                nearest.empty() ? "attune --help lists them; a program is run with: attune run -- PROGRAM" : nearest});
  } else {
    PrintError({Errc::kInvalidArgument, error.what(),
                std::string("attune ") + (known ? std::string(first) + " " : "") + "--help shows the usage"});
  }
  return ExitCode(Errc::kInvalidArgument);
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<Command> commands = MakeAllCommands();
  const Command* chosen = nullptr;
  CLI::App app(kAbout, "attune");
  app.set_version_flag("--version", std::string("attune ") + kVersion);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 unavailable here, 4 permission, 5 target failed; run: the program's "
      "own.");
  for (const Command& command : commands) AddCommand(app, command, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error, commands, argc > 1 ? argv[1] : nullptr);
  }
  Result<int> code = chosen->run();
  if (!code.ok()) {
    PrintError(code.error());
    return ExitCode(code.error().code);
  }
  return *code;
}

}  // namespace
}  // namespace attune::cli

int main(int argc, char** argv) {
  try {
    return attune::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    attune::cli::PrintError({attune::Errc::kInternal, error.what(), "this is a defect of attune: please report it"});
    return 1;
  }
}
