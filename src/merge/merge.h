#pragma once
/// Joins the recordings of the hosts of one MPI job (docs/merge.md).

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "merge/merged_host.h"

namespace attune::merge {

struct MergeOptions {
  std::vector<std::string> inputs;  ///< the first one's clock is that of the result
  std::string output;
  bool overwrite = false;
};

struct MergeResult {
  std::vector<MergedHost> hosts;
  int64_t messages = 0;             ///< between hosts, of which both sides are there
  int64_t backward = 0;             ///< of these, that arrive before they left all the same
  int64_t contradiction_ns = 0;     ///< by which messages contradict each other, whatever the clocks
  std::vector<std::string> damage;  ///< what of the recordings could not be read
};

/// Errors: what opening and reading say; kInvalidArgument for recordings that are not of one job, of one host twice, or
/// that have one rank twice; kExists for an output that is there.
/// @cost reads the messages twice and all else once; memory for some batches of each recording
Result<MergeResult> MergeRecordings(const MergeOptions& options);

}  // namespace attune::merge
