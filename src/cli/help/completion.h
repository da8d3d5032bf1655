#pragma once
/// Shell completions and manual pages, made from the descriptions of the subcommands.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace attune::cli {

/// "-o,--output" as its two names.
std::vector<std::string> FlagNames(const Option& option);

/// The script that the shell sources. It asks `attune list KIND --names` for what depends on the host (sensors,
/// sessions). @param shell "bash", "zsh" or "fish"; others are an error that names these
Result<std::string> CompletionScript(std::string_view shell, const std::vector<Command>& commands);

/// A page in roff: its file name and its text.
struct ManualPage {
  std::string name;  ///< "attune-run.1"
  std::string text;
};
/// attune.1 and one page a subcommand that is not hidden.
std::vector<ManualPage> ManualPages(const std::vector<Command>& commands);

}  // namespace attune::cli
