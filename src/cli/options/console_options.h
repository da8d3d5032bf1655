#pragma once
/// `--console-file`: what the file says takes the place of the command line's words.

#include "base/result.h"
#include "cli/options/observe.h"

namespace attune::cli {

/// Reads the file that `options.console_file` names. What the command line says too goes before what the file says.
/// @return an error names file, line and column
Status ApplyConsoleFile(ObserveOptions& options);

}  // namespace attune::cli
