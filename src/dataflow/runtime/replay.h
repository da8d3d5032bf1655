#pragma once
/// Runs one instance again, on inputs from a kept file.

#include "dataflow/runtime/program_options.h"

namespace attune::flow::detail {

/// Prints what the instance fetched and stored, and whether that is what the file has. Errors are printed on standard
/// error. @param name of the program, for messages
/// @return exit code: 0 as in the file; 1 not, or the instance failed; 2 it cannot be run, or not be compared
int Replay(const char* name, const GraphInfo& graph, const ProgramOptions& options);

}  // namespace attune::flow::detail
