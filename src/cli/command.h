#pragma once
/// Subcommands as data. The parser, `--help`, the shell completions and the manual pages are all made from these
/// descriptions, so that none of them can say something else than the others.
///
/// A subcommand is one file of commands/, named as it (plugin_host.cpp), that defines `Command
/// MakePluginHostCommand()`.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace attune::cli {

/// Completion that a shell offers when the user presses Tab after the option.
enum class Complete {
  kNothing,
  kFile,
  kRecording,
  kSensor,
  kSink,
  kSession,
  kProgram,
  kCommand,
};

struct Option {
  std::string flags;  ///< "-o,--output"
  std::string value;  ///< how help names the value: "FILE"; empty for a switch
  std::string help;   ///< one or two sentences, with the default
  std::variant<bool*, std::string*, std::vector<std::string>*> target;  ///< a vector: may be given more than once
  Complete complete = Complete::kNothing;
  std::vector<std::string> words = {};  ///< all possible values, where they do not depend on the host
};

/// Completion that a shell offers behind a word.
struct Following {
  std::string word;  ///< "level"
  Complete complete = Complete::kNothing;
  std::vector<std::string> words = {};
};

struct Positional {
  std::string name;  ///< "FILE"
  std::string help;
  std::variant<std::string*, std::vector<std::string>*> target;
  bool required = true;
  Complete complete = Complete::kNothing;
  std::vector<std::string> words = {};  ///< all possible values, where they do not depend on the host
  std::vector<Following> then = {};     ///< choices of the next argument, where they depend on this one, the first
};

struct Example {
  std::string command;  ///< "attune run -- xz -T2 big.tar"
  std::string what;     ///< "run a program, print what held it back, keep the recording"
};

struct Command {
  std::string name;
  int rank = 0;             ///< order in which help lists them
  bool hidden = false;      ///< works, but is in no list: for builds and for attune itself
  std::string summary;      ///< one line, lower case, no full stop
  std::string description;  ///< paragraphs for --help and the manual
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::vector<std::string>* program = nullptr;  ///< takes `[--] PROGRAM [ARGUMENTS]`, everything from the first word on
  std::vector<Example> examples;
  std::function<Result<int>()> run;  ///< the exit code; an Error is printed and mapped by ExitCode()
};

/// All subcommands, in the order in which help lists them. Each holds its own state.
std::vector<Command> MakeAllCommands();

/// The one of this name, without the time that the others take. Empty: there is none
std::optional<Command> MakeCommand(std::string_view name);

/// 0 ok, 1 failed, 2 usage, 3 unavailable here, 4 permission, 5 target failed.
int ExitCode(Errc code);

/// "attune: message" and an indented "hint: ..." on stderr, coloured on a terminal.
void PrintError(const Error& error);

}  // namespace attune::cli
