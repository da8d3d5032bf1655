#include "cli/help/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "cli/help/completion_scripts.h"

namespace attune::cli {

std::vector<std::string> FlagNames(const Option& option) {
  const std::vector<std::string_view> names = Split(option.flags, ",");
  return {names.begin(), names.end()};
}

namespace {

bool IsSwitch(const Option& option) { return std::holds_alternative<bool*>(option.target); }
bool IsRepeated(const Option& option) { return std::holds_alternative<std::vector<std::string>*>(option.target); }
bool IsRepeated(const Positional& positional) {
  return std::holds_alternative<std::vector<std::string>*>(positional.target);
}

/// Names of the kinds of values in the scripts.
std::string_view KindName(Complete kind) {
  switch (kind) {
    case Complete::kFile: return "file";
    case Complete::kRecording: return "recording";
    case Complete::kSensor: return "sensor";
    case Complete::kSink: return "sink";
    case Complete::kSession: return "session";
    case Complete::kProgram: return "program";
    case Complete::kCommand: return "command";
    case Complete::kNothing: break;
  }
  return "none";
}

/// As the bash script takes it: the kind, or the words that there are.
template <class Described>
std::string BashKind(const Described& described) {
  return described.words.empty() ? std::string(KindName(described.complete))
                                 : fmt::format("\"words {}\"", fmt::join(described.words, " "));
}

std::string Names(const std::vector<Command>& commands) {
  std::string names;
  for (const Command& command : commands) {
    if (!command.hidden) names += (names.empty() ? "" : " ") + command.name;
  }
  return names;
}

// --- bash -----------------------------------------------------------------------------------------------------------

std::string BashScript(const std::vector<Command>& commands) {
  std::string options;
  std::string values;
  std::string positionals;
  std::string following;
  std::string programs;
  for (const Command& command : commands) {
    if (command.hidden) continue;
    std::string flags;
    for (const Option& option : command.options) {
      std::string pattern;
      for (const std::string& flag : FlagNames(option)) {
        flags += " " + flag;
        pattern += fmt::format("{}\"{} {}\"", pattern.empty() ? "" : "|", command.name, flag);
      }
      if (!IsSwitch(option)) values += fmt::format("    {}) echo {} ;;\n", pattern, BashKind(option));
    }
    options += fmt::format("    {}) echo \"{}\" ;;\n", command.name, flags);
    for (size_t i = 0; i < command.positionals.size(); ++i) {
      const Positional& positional = command.positionals[i];
      const std::string index = IsRepeated(positional) ? "*" : std::to_string(i);
      positionals += fmt::format("    \"{} \"{}) echo {} ;;\n", command.name, index, BashKind(positional));
      for (const Following& next : positional.then)
        following += fmt::format("    \"{} {} \"1) echo {}; return ;;\n", command.name, next.word, BashKind(next));
    }
    if (command.program != nullptr) programs += (programs.empty() ? "" : "|") + command.name;
  }
  return "# bash completion for attune; load it with: source <(attune completion bash)\n\n"
         "_attune_commands='" +
         Names(commands) + "'\n\n_attune_options() {\n  case $1 in\n" + options + "  esac\n}\n\n" +
         "_attune_option_value() {  # \"subcommand --option\": the kind of its value; nothing for a switch\n  case $1 "
         "in\n" +
         values + "  esac\n}\n\n" +
         "_attune_positional() {  # subcommand, how many are there already, the first of them\n"
         "  case \"$1 $3 $2\" in\n" +
         following + "  esac\n  case \"$1 $2\" in\n" + positionals + "    *) echo none ;;\n  esac\n}\n\n" +
         "_attune_takes_program() {\n  case $1 in\n" + (programs.empty() ? "" : "    " + programs + ") return 0 ;;\n") +
         "  esac\n  return 1\n}\n" + std::string(kBashCode);
}

// --- zsh ------------------------------------------------------------------------------------------------------------

/// Text inside single quotes inside an _arguments specification.
std::string ZshEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      escaped += std::string("\\") + c;
    } else {
      escaped += c == '\n' ? ' ' : c;
    }
  }
  return escaped;
}

template <class Described>
std::string ZshAction(const Described& described) {
  if (!described.words.empty()) return fmt::format("({})", fmt::join(described.words, " "));
  switch (described.complete) {
    case Complete::kFile: return "_files";
    case Complete::kRecording: return "_files -g \"*.attune\"";
    case Complete::kProgram: return "_command_names -e";
    case Complete::kSensor: return "_attune_sensors";
    case Complete::kSink: return "_attune_sinks";
    case Complete::kSession: return "_attune_sessions";
    case Complete::kCommand: return "_attune_commands";
    case Complete::kNothing: break;
  }
  return " ";
}

std::string ZshOption(const Option& option) {
  const std::vector<std::string> names = FlagNames(option);
  const std::string help = "[" + ZshEscaped(option.help) + "]";
  const std::string value = IsSwitch(option) ? "" : ":" + ZshEscaped(option.value) + ":" + ZshAction(option);
  std::string text;
  for (const std::string& name : names) {
    const std::string others = IsRepeated(option) ? "*" : fmt::format("({})", fmt::join(names, " "));
    const char* joiner = IsSwitch(option) ? "" : name.starts_with("--") ? "=" : "+";
    text += fmt::format(" \\\n        '{}{}{}{}{}'", others, name, joiner, help, value);
  }
  return text;
}

/// Behind the first argument, where that says what the next one is.
std::string ZshFollowing(const Command& command) {
  std::string cases;
  for (const Positional& positional : command.positionals) {
    for (const Following& next : positional.then) {
      const std::string action =
          next.words.empty() ? ZshAction(next) : fmt::format("compadd -- {}", fmt::join(next.words, " "));
      cases += fmt::format("        {}) {} ;;\n", next.word, action == " " ? "" : action);
    }
  }
  if (cases.empty()) return "";
  return "\n      [[ $state == following ]] && case $line[1] in\n" + cases + "      esac";
}

std::string ZshScript(const std::vector<Command>& commands) {
  std::string list;
  std::string cases;
  for (const Command& command : commands) {
    if (command.hidden) continue;
    list += fmt::format("    '{}:{}'\n", command.name, ZshEscaped(command.summary));
    cases += fmt::format("    {})\n      _arguments -S '(- *)--help[show the usage]'", command.name);
    for (const Option& option : command.options) cases += ZshOption(option);
    bool follows = false;
    for (const Positional& positional : command.positionals) {
      cases += fmt::format(" \\\n        '{}:{}:{}'",
                           IsRepeated(positional) ? "*"
                           : positional.required  ? ""
                                                  : ":",
                           ZshEscaped(positional.name), follows ? "->following" : ZshAction(positional));
      follows = !positional.then.empty();
    }
    // From its name on, it is the program's own command line.
    if (command.program != nullptr)
      cases += " \\\n        '(-)1:program:_command_names -e' \\\n        '*::arguments:_normal'";
    cases += ZshFollowing(command) + "\n      ;;\n";
  }
  return "#compdef attune\n# zsh completion for attune; put it into a folder of $fpath as _attune, or load it with:\n"
         "#   source <(attune completion zsh)\n\n"
         "_attune_commands() {\n  local -a commands=(\n" +
         list +
         "  )\n  _describe 'subcommand' commands\n}\n\n"
         "_attune_sensors() { _values -s , 'sensor' none ${(f)\"$(attune list sensors --names 2>/dev/null)\"} }\n"
         "_attune_sinks() { compadd -S '' -- ${(f)\"$(attune list sinks --names 2>/dev/null)\"} }\n"
         "_attune_sessions() { compadd -- ${(f)\"$(attune list sessions --names 2>/dev/null)\"} }\n\n"
         "_attune() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n"
         "  _arguments -C '(- *)--help[show the usage]' '(- *)--version[show the version]' "
         "'1:subcommand:_attune_commands' '*::argument:->rest'\n"
         "  [[ $state == rest ]] || return\n  case $words[1] in\n" +
         cases +
         "  esac\n}\n\n"
         "if [[ $funcstack[1] == _attune ]]; then\n  _attune \"$@\"\nelse\n  compdef _attune attune\nfi\n";
}

// --- fish -----------------------------------------------------------------------------------------------------------

std::string FishQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "'";
}

template <class Described>
std::string FishValues(const Described& described) {
  if (!described.words.empty()) return fmt::format(" -x -a '{}'", fmt::join(described.words, " "));
  switch (described.complete) {
    case Complete::kFile: return " -r -F";
    case Complete::kRecording: return " -x -a '(__fish_complete_suffix .attune)'";
    case Complete::kProgram: return " -x -a '(__fish_complete_command)'";
    case Complete::kSensor: return " -x -a '(__fish_append , none (attune list sensors --names 2>/dev/null))'";
    case Complete::kSink: return " -x -a '(attune list sinks --names 2>/dev/null)'";
    case Complete::kSession: return " -x -a '(attune list sessions --names 2>/dev/null)'";
    case Complete::kCommand:
    case Complete::kNothing: break;
  }
  return " -x";
}

std::string FishOption(const Command& command, const Option& option) {
  std::string line = fmt::format("complete -c attune -n '__attune_is {}; and not __attune_in_program'", command.name);
  for (const std::string& flag : FlagNames(option)) {
    line += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
  }
  return line + (IsSwitch(option) ? "" : FishValues(option)) + " -d " + FishQuoted(option.help) + "\n";
}

std::string FishScript(const std::vector<Command>& commands) {
  std::string lines;
  std::string with_program;
  std::string with_value;
  for (const Command& command : commands) {
    if (command.hidden) continue;
    lines += fmt::format("complete -c attune -n 'not __attune_subcommand >/dev/null' -a {} -d {}\n", command.name,
                         FishQuoted(command.summary));
    for (const Option& option : command.options) {
      lines += FishOption(command, option);
      if (IsSwitch(option)) continue;
      for (const std::string& flag : FlagNames(option)) with_value += fmt::format(" '{} {}'", command.name, flag);
    }
    for (const Positional& positional : command.positionals) {
      const std::string first =
          positional.then.empty() ? "" : fmt::format("; and not __attune_behind {}", fmt::join(positional.words, " "));
      lines += fmt::format("complete -c attune -n '__attune_is {}{}'{}\n", command.name, first, FishValues(positional));
      for (const Following& next : positional.then)
        lines += fmt::format("complete -c attune -n '__attune_is {}; and __attune_behind {}'{}\n", command.name,
                             next.word, FishValues(next));
    }
    if (command.program == nullptr) continue;
    with_program += " " + command.name;
    lines += fmt::format(
        "complete -c attune -n '__attune_is {}; and not __attune_in_program' -a '(__fish_complete_command)'\n",
        command.name);
  }
  return "# fish completion for attune; load it with: attune completion fish | source\n\n"
         "set -g __attune_with_program" +
         with_program + "\nset -g __attune_with_value" + with_value + "\n" + std::string(kFishCode) + lines;
}

}  // namespace

Result<std::string> CompletionScript(std::string_view shell, const std::vector<Command>& commands) {
  if (shell == "bash") return BashScript(commands);
  if (shell == "zsh") return ZshScript(commands);
  if (shell == "fish") return FishScript(commands);
  return Error{Errc::kInvalidArgument, fmt::format("there is no completion for the shell '{}'", shell),
               "there is one for bash, zsh and fish"};
}

}  // namespace attune::cli
