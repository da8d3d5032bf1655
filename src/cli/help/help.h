#pragma once
/// The text of `--help`, from the descriptions of the subcommands.

#include <string>
#include <vector>

#include "cli/command.h"

namespace attune::cli {

/// All subcommands. @param width of the lines
std::string HelpText(const std::vector<Command>& commands, size_t width);
/// One subcommand.
std::string HelpText(const Command& command, size_t width);
/// Width for standard output: the terminal's width up to 100 columns; 80 where it is none.
size_t HelpWidth();

}  // namespace attune::cli
