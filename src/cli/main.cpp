#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/privilege.h"
#include "base/root_helper.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/help/help.h"
#include "cli/help/usage_error.h"
#include "cli/terminal/output.h"
#include "session/core/root_requests.h"
#include "session/host/launch.h"

namespace attune::cli {
namespace {

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
    if (command.program == nullptr || sub->remaining().empty()) return;
    std::vector<std::string> words = sub->remaining();
    if (words.front().starts_with('-')) throw CLI::ExtrasError({words.front()});
    // "run git log -- file": the program began before the "--", which is the program's own.
    if (!command.program->empty()) words.emplace_back("--");
    words.insert(words.end(), command.program->begin(), command.program->end());
    *command.program = std::move(words);
  });
}

/// Cuts "-- PROGRAM ARGUMENTS" off the command line of a subcommand that takes a program, and gives it to that.
/// @return how many arguments are left
int TakeProgram(int argc, char** argv, const std::vector<Command>& commands) {
  if (argc < 2) return argc;
  const auto command =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == argv[1]; });
  if (command == commands.end() || command->program == nullptr) return argc;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    command->program->assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

/// --help of the subcommand that stands first or, as other tools take it, behind it.
std::string Help(const std::vector<Command>& commands, int argc, char** argv) {
  for (int i = 1; i < std::min(argc, 3); ++i) {
    for (const Command& command : commands) {
      if (command.name == argv[i]) return HelpText(command, HelpWidth());
    }
  }
  return HelpText(commands, HelpWidth());
}

/// The subcommand that the first word names, or all of them, for help and for what is wrong.
std::vector<Command> MakeCommands(int argc, char** argv) {
  std::vector<Command> commands;
  if (std::optional<Command> named = argc > 1 ? MakeCommand(argv[1]) : std::nullopt) {
    commands.push_back(*std::move(named));
  } else {
    commands = MakeAllCommands();
  }
  return commands;
}

Result<int> Run(int argc, char** argv) {
  const std::vector<Command> commands = MakeCommands(argc, argv);
  argc = TakeProgram(argc, argv, commands);
  const Command* chosen = nullptr;
  CLI::App app("", "attune");
  app.set_version_flag("-V,--version", std::string("attune ") + kVersion);
  app.require_subcommand(1);
  for (const Command& command : commands) AddCommand(app, command, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(Help(commands, argc, argv).c_str(), stdout);
    return FinishOutput();
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return FinishOutput();
  } catch (const CLI::ParseError& error) {
    const bool surplus = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    return DescribeUsageError(error.what(), surplus, MakeAllCommands(), argc, argv);
  }
  return chosen->run();
}

int Main(int argc, char** argv) {
  KeepStandardStreams();
  const Result<int> code = Run(argc, argv);
  if (code.ok()) return *code;
  if (IsReaderGone(code.error())) session::DieLike(SIGPIPE);
  PrintError(code.error());
  return ExitCode(code.error().code);
}

}  // namespace
}  // namespace attune::cli

int main(int argc, char** argv) {
  try {
    attune::StartRootHelper(attune::session::AnswerAsRoot);
    if (const attune::Status entered = attune::EnterInvokingUser(); !entered.ok()) {
      attune::cli::PrintError(entered.error());
      return attune::cli::ExitCode(entered.error().code);
    }
    return attune::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    attune::cli::PrintError({attune::Errc::kInternal, error.what(), "this is a defect of attune: please report it"});
    return 1;
  }
}
