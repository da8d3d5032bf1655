#include "cli/help/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cli/command.h"
#include "cli/help/completion.h"
#include "cli/help/usage_error.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {
namespace {

constexpr size_t kNameColumn = 2;
constexpr size_t kTextColumn = 26;

/// Lines of `text`, each wrapped, with `indent` spaces before them.
std::string Paragraphs(const std::string& text, size_t indent, size_t width) {
  std::string wrapped;
  for (const std::string_view paragraph : Split(text, "\n")) {
    const std::vector<std::string> lines = Wrapped(paragraph, width - indent);
    for (const std::string& line : lines) wrapped += std::string(indent, ' ') + line + "\n";
    if (lines.empty()) wrapped += "\n";
  }
  return wrapped;
}

/// A name, and in a column beside it, or below it where it is long, what it means.
std::string Entry(const std::string& name, const std::string& text, size_t column, size_t width) {
  std::string lines = Paragraphs(text, column, width);
  const std::string lead = std::string(kNameColumn, ' ') + name;
  if (lead.size() + 2 > column) return lead + "\n" + lines;
  return lines.replace(0, lead.size(), lead);
}

std::string FlagsText(const Option& option) {
  std::string flags;
  for (const std::string& flag : FlagNames(option)) {
    if (flags.empty() && flag.starts_with("--")) flags = "    ";  // below the long names of others
    flags += (flags.empty() || flags.back() == ' ' ? "" : ", ") + flag;
  }
  return flags + (option.value.empty() ? "" : " " + option.value);
}

std::string UsageText(const Command& command) {
  std::string text = "Usage: attune " + command.name + (command.options.empty() ? "" : " [OPTIONS]");
  for (const Positional& positional : command.positionals) {
    const bool repeated = std::holds_alternative<std::vector<std::string>*>(positional.target);
    const std::string name = positional.name + (repeated ? "..." : "");
    text += positional.required ? " " + name : " [" + name + "]";
  }
  return text + (command.program != nullptr ? " [--] PROGRAM [ARGUMENTS]" : "") + "\n";
}

/// A command line in lines that a shell takes as one.
std::string Continued(const std::string& command, size_t width) {
  std::string text;
  std::string line = "  ";
  char quote = 0;
  for (size_t at = 0; at < command.size();) {
    size_t end = at;  // end of the word, with what its quotes hold
    for (; end < command.size() && (quote != 0 || command[end] != ' '); ++end) {
      if (command[end] == quote) {
        quote = 0;
      } else if (quote == 0 && (command[end] == '\'' || command[end] == '"')) {
        quote = command[end];
      }
    }
    const bool first = line.find_first_not_of(' ') == std::string::npos;
    if (!first && line.size() + (end - at) + 3 > width) {
      text += line + " \\\n";
      line = "    ";
    }
    if (line.find_first_not_of(' ') != std::string::npos) line += ' ';
    line.append(command, at, end - at);
    at = end + 1;
  }
  return text + line + "\n";
}

}  // namespace

size_t HelpWidth() {
  constexpr size_t kUsual = 80, kLeast = 50, kMost = 100;
  const size_t terminal = TerminalWidth(stdout);
  return terminal == 0 ? kUsual : std::clamp(terminal, kLeast, kMost);
}

std::string HelpText(const Command& command, size_t width) {
  std::string text = Paragraphs(command.summary, 0, width);
  if (!command.description.empty()) text += "\n" + Paragraphs(command.description, 0, width);
  text += "\n" + UsageText(command);
  if (!command.positionals.empty()) text += "\n";
  for (const Positional& positional : command.positionals)
    text += Entry(positional.name, positional.help, kTextColumn, width);
  text += "\nOptions\n" + Entry("-h, --help", "Print this help", kTextColumn, width);
  for (const Option& option : command.options) text += Entry(FlagsText(option), option.help, kTextColumn, width);
  if (!command.examples.empty()) text += "\nEXAMPLES\n";
  for (const Example& example : command.examples)
    text += Continued(example.command, width) + Paragraphs(example.what, 6, width);
  return text;
}

std::string HelpText(const std::vector<Command>& commands, size_t width) {
  constexpr size_t kColumn = 15;
  std::string text = Paragraphs(
      "attune watches a running parallel program and finds what holds it back.\n"
      "Begin with: attune run -- PROGRAM\n\n"
      "Usage: attune SUBCOMMAND [OPTIONS]\n",
      0, width);
  for (const Command& command : commands) {
    if (!command.hidden) text += Entry(command.name, command.summary, kColumn, width);
  }
  text += "\n" +
          Paragraphs("attune help SUBCOMMAND describes one, with examples; so does man attune-SUBCOMMAND.", 0, width);
  text += "\n" + Paragraphs(
                     "Exit codes: 0 ok, 1 failed, 2 usage, 3 unavailable here, 4 permission, 5 target failed; with a "
                     "program: the program's own.",
                     0, width);
  return text;
}

}  // namespace attune::cli
