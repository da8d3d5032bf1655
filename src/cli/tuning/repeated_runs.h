#pragma once
/// Tuning across runs: `attune tune --runs N` repeats a program that is too short to be tuned while it runs.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace attune::cli {

struct RepeatedRuns {
  int64_t runs = 0;  ///< at most; the first one finds what may help
  std::vector<std::string> program;
  std::vector<std::string> find_options;  ///< options of `attune tune --dry-run`
  std::string save;                       ///< file for the kept settings; empty: none
  std::string output;                     ///< file for the recording of the first run; empty: none is kept
  bool json = false;
  bool quiet = false;
};

/// Runs the program once to find out what may help, then with and without each proposal by turns. The figure is its
/// wall time; the guard is that of tuning while a program runs (session/tuning/experiment.h).
/// @return the exit code of the last run  Error: kTargetFailed: it could not be run
Result<int> TuneAcrossRuns(const RepeatedRuns& options);

}  // namespace attune::cli
