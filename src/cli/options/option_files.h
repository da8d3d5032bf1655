#pragma once
/// Files that say what the command line does not: `--console-file`, and the user's defaults (docs/command-line.md).

#include "base/result.h"
#include "cli/options/observe.h"

namespace attune::cli {

/// Gives each option that the command line leaves open the value of the console file, else that of the user's defaults.
/// @return an error names file, line and column
Status ApplyFiles(ObserveOptions& options);

}  // namespace attune::cli
