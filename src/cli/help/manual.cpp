/// Manual pages in roff (man macros), from the descriptions of the subcommands.

#include <fmt/format.h>

#include "base/version.h"
#include "cli/help/completion.h"

namespace attune::cli {
namespace {

/// Text as roff shows it: no escape, no request, minus signs that can be copied.
std::string Roff(std::string_view text) {
  std::string escaped;
  bool line_start = true;
  for (const char c : text) {
    if (line_start && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    line_start = c == '\n';
  }
  return escaped;
}

/// Paragraphs are separated by empty lines; a single line break stays one.
std::string Paragraphs(std::string_view text) {
  std::string roff;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      if (at <= text.size()) roff += ".PP\n";
      continue;
    }
    if (!roff.empty() && !roff.ends_with(".PP\n")) roff += ".br\n";
    roff += Roff(line) + "\n";
  }
  return roff;
}

std::string Header(const std::string& title, const std::string& name, const std::string& summary) {
  return fmt::format(".TH {} 1 \"\" \"attune {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", title, kVersion,
                     Roff(name), Roff(summary));
}

std::string OptionText(const Option& option) {
  std::string flags;
  for (const std::string& flag : FlagNames(option)) {
    flags += (flags.empty() ? "\\fB" : ", \\fB") + Roff(flag) + "\\fR";
  }
  if (!option.value.empty()) flags += " \\fI" + Roff(option.value) + "\\fR";
  return ".TP\n" + flags + "\n" + Roff(option.help) + "\n";
}

std::string Synopsis(const Command& command) {
  std::string text = "\\fBattune " + Roff(command.name) + "\\fR";
  if (!command.options.empty()) text += " [\\fIoptions\\fR]";
  for (const Positional& positional : command.positionals) {
    const bool repeated = std::holds_alternative<std::vector<std::string>*>(positional.target);
    const std::string name = "\\fI" + Roff(positional.name) + "\\fR" + (repeated ? " ..." : "");
    text += positional.required ? " " + name : " [" + name + "]";
  }
  if (command.program != nullptr) text += " [\\fB\\-\\-\\fR] \\fIPROGRAM\\fR [\\fIarguments\\fR]";
  return text + "\n";
}

constexpr std::string_view kExitStatus =
    ".SH EXIT STATUS\n0 ok, 1 failed, 2 usage, 3 unavailable here, 4 permission, 5 target failed.\n";

std::string PageOf(const Command& command) {
  const std::string name = "attune-" + command.name;
  std::string upper = name;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = Header(Roff(upper), name, command.summary);
  text += ".SH SYNOPSIS\n" + Synopsis(command);
  text += ".SH DESCRIPTION\n" + Paragraphs(command.description.empty() ? command.summary : command.description);
  if (!command.positionals.empty()) {
    text += ".SH ARGUMENTS\n";
    for (const Positional& positional : command.positionals)
      text += ".TP\n\\fI" + Roff(positional.name) + "\\fR\n" + Roff(positional.help) + "\n";
  }
  if (!command.options.empty()) text += ".SH OPTIONS\n";
  for (const Option& option : command.options) text += OptionText(option);
  if (!command.examples.empty()) text += ".SH EXAMPLES\n";
  for (const Example& example : command.examples)
    text += ".TP\n\\fB" + Roff(example.command) + "\\fR\n" + Roff(example.what) + "\n";
  text += kExitStatus;
  if (command.program != nullptr) text += "Where a program is run to its end, its own exit code or signal.\n";
  return text + ".SH SEE ALSO\n\\fBattune\\fR(1)\n";
}

}  // namespace

std::vector<ManualPage> ManualPages(const std::vector<Command>& commands) {
  std::string list;
  std::string see_also;
  std::vector<ManualPage> pages(1);
  for (const Command& command : commands) {
    if (command.hidden) continue;
    list += ".TP\n\\fBattune " + Roff(command.name) + "\\fR\n" + Roff(command.summary) + "\n";
    see_also += (see_also.empty() ? "" : ",\n") + fmt::format("\\fBattune\\-{}\\fR(1)", Roff(command.name));
    pages.push_back({"attune-" + command.name + ".1", PageOf(command)});
  }
  pages[0] = {
      "attune.1",
      Header("ATTUNE", "attune", "watch a running parallel program, find what holds it back") +
          ".SH SYNOPSIS\n\\fBattune\\fR \\fIsubcommand\\fR [\\fIoptions\\fR]\n"
          ".br\n\\fBattune run\\fR [\\fB\\-\\-\\fR] \\fIPROGRAM\\fR [\\fIarguments\\fR]\n" +
          ".SH DESCRIPTION\n"
          "attune watches a running parallel program: its hardware, its operating system, its own code. It records\n"
          "what it sees in one file, and shows it as a report, on a page in the browser, and by SQL.\n" +
          ".SH SUBCOMMANDS\n" + list + std::string(kExitStatus) +
          ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nIf set and not empty: no colours.\n"
          ".TP\n\\fBATTUNE_DEFAULTS\\fR\nThe file of your defaults of options, in place of\n"
          "~/.config/attune/defaults.toml; empty: none.\n"
          ".TP\n\\fBXDG_RUNTIME_DIR\\fR\nSessions live in the folder attune there; without it, in a folder of /tmp.\n" +
          ".SH SEE ALSO\n" + see_also + "\n"};
  return pages;
}

}  // namespace attune::cli
