#pragma once
/// Counts of threads in a recording (attune run --count), as if they were counted now.

#include <string>
#include <vector>

#include "cli/counters/counted_threads.h"

namespace attune::cli {

/// @param what gets the events, and the metrics of the groups  Error: kNotFound where nothing was counted
Result<ThreadRun> ThreadsOfRecording(const std::string& file, const std::vector<std::string>& groups,
                                     ThreadOptions& what);

}  // namespace attune::cli
