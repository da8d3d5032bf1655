#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/privilege.h"
#include "base/root_helper.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "session/root_requests.h"

namespace attune::cli {
namespace {

constexpr const char* kAbout =
    "attune watches a running parallel program and finds what holds it back.\n"
    "Begin with: attune run -- PROGRAM";

std::string ExamplesText(const Command& command) {
  std::string text;
  if (!command.examples.empty()) text += "EXAMPLES\n";
  for (const Example& example : command.examples) text += "  " + example.command + "\n      " + example.what + "\n";
  return text;
}

/// Help that fits a terminal: long texts are wrapped, and the list of subcommands has their summaries only.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override { return Wrapped(app->get_description()) + "\n\n"; }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (app->get_prefix_command()) usage.insert(usage.find_last_not_of('\n') + 1, " [--] PROGRAM [ARGUMENTS]");
    return usage;
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string description = sub->get_description();
    const std::string name = "  " + sub->get_name();
    return name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') +
           description.substr(0, description.find('\n')) + "\n";
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kColumn = 30;
    std::string text = Wrapped(option->get_description(), kWidth - kColumn);
    for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += kColumn)
      text.replace(at, 1, "\n" + std::string(kColumn - 1, ' '));
    return text;
  }

 private:
  static constexpr size_t kWidth = 100;

  /// Lines of at most `width` characters; line breaks that are there stay.
  static std::string Wrapped(const std::string& text, size_t width = kWidth) {
    std::string wrapped;
    size_t length = 0;
    for (size_t at = 0; at < text.size();) {
      if (text[at] == '\n') {
        wrapped += '\n';
        length = 0;
        ++at;
        continue;
      }
      const size_t end = std::min(text.find_first_of(" \n", at + 1), text.size());
      if (length > 0 && length + (end - at) > width) {
        wrapped += '\n';
        length = 0;
        if (text[at] == ' ') ++at;
      }
      wrapped.append(text, at, end - at);
      length += end - at;
      at = end;
    }
    return wrapped;
  }
};

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
    if (command.program == nullptr || sub->remaining().empty()) return;
    std::vector<std::string> words = sub->remaining();
    if (words.front().starts_with('-')) throw CLI::ExtrasError({words.front()});
    // "run git log -- file": the program began before the "--", which is the program's own.
    if (!command.program->empty()) words.emplace_back("--");
    words.insert(words.end(), command.program->begin(), command.program->end());
    *command.program = std::move(words);
  });
}

/// The first word behind the subcommand that looks like an option and is none of it; "" if there is none.
std::string UnknownOption(const Command& command, int argc, char** argv) {
  for (int i = 2; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    const std::string name(argv[i], std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('=')).size());
    if (!name.starts_with('-') || name == "-") continue;
    const auto is_it = [&](const Option& option) {
      const std::vector<std::string> flags = FlagNames(option);
      return std::find(flags.begin(), flags.end(), name) != flags.end();
    };
    const auto option = std::find_if(command.options.begin(), command.options.end(), is_it);
    if (option == command.options.end()) return name;
    const bool value_follows = !std::holds_alternative<bool*>(option->target) && name == argv[i];
    if (value_follows) ++i;
  }
  return "";
}

Error DescribeUsageError(const CLI::ParseError& error, const std::vector<Command>& commands, int argc, char** argv) {
  std::vector<std::string> names;
  const std::string first = argc > 1 ? argv[1] : "";
  const Command* known = nullptr;
  for (const Command& command : commands) {
    if (!command.hidden) names.push_back(command.name);
    if (command.name == first) known = &command;
  }
  const std::string how = "attune " + (known != nullptr ? first + " " : "") + "--help shows the usage";
  if (first.empty())
    return {Errc::kInvalidArgument, "no subcommand given", "begin with: attune run -- PROGRAM; " + how};
  if (known == nullptr && first[0] != '-') {
    const std::string nearest = DidYouMean(first, names);
    return {Errc::kInvalidArgument, "there is no subcommand '" + first + "'",
            nearest.empty() ? "attune --help lists them; a program is run with: attune run -- PROGRAM" : nearest};
  }
  if (known == nullptr || dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr)
    return {Errc::kInvalidArgument, error.what(), how};
  const std::string option = UnknownOption(*known, argc, argv);
  if (option.empty()) return {Errc::kInvalidArgument, "attune " + first + " takes fewer arguments", how};
  std::vector<std::string> flags;
  for (const Option& candidate : known->options) {
    for (const std::string& flag : FlagNames(candidate)) flags.push_back(flag);
  }
  const std::string nearest = DidYouMean(option, flags);
  return {Errc::kInvalidArgument, "attune " + first + " has no option '" + option + "'",
          nearest.empty() ? how : nearest};
}

/// CLI11's usage errors in our words, with the nearest names.
int UsageError(const CLI::App& app, const CLI::ParseError& error, const std::vector<Command>& commands, int argc,
               char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  PrintError(DescribeUsageError(error, commands, argc, argv));
  return ExitCode(Errc::kInvalidArgument);
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

int Main(int argc, char** argv) {
  const std::vector<Command> commands = MakeAllCommands();
  argc = TakeProgram(argc, argv, commands);
  const Command* chosen = nullptr;
  CLI::App app(kAbout, "attune");
  app.set_version_flag("--version", std::string("attune ") + kVersion);
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(
      "Exit codes: 0 ok, 1 failed, 2 usage, 3 unavailable here, 4 permission, 5 target failed; run: the program's "
      "own.");
  for (const Command& command : commands) AddCommand(app, command, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error, commands, argc, argv);
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
