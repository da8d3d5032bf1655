#pragma once
/// Errors for command lines that make no sense: what is wrong, and what was probably meant.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/command.h"

namespace attune::cli {

/// Whether a file of that name can be run: one on the PATH, or the one that a path names.
bool IsProgram(const std::string& name);

/// There is no such subcommand. The hint: the nearest names, what attune calls what other tools call so, or how a
/// program is run.
Error UnknownSubcommand(const std::string& word, const std::vector<Command>& commands);

/// A command line that the parser refused. @param why the parser's words
/// @param surplus whether there were words that it had no place for
Error DescribeUsageError(const std::string& why, bool surplus, const std::vector<Command>& commands, int argc,
                         char** argv);

}  // namespace attune::cli
