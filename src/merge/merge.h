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
  int64_t messages = 0;             ///< between hosts, with both sides
  int64_t backward = 0;             ///< those of them that still arrive before they left
  int64_t contradiction_ns = 0;     ///< by how much messages contradict each other with any clocks
  std::vector<std::string> damage;  ///< unreadable parts of the recordings
};

/// Errors: those of opening and reading; kInvalidArgument for recordings of several jobs, twice of one host, or with
/// one rank twice; kExists for an existing output.
/// @cost reads the messages twice and all else once; memory for some batches of each recording
Result<MergeResult> MergeRecordings(const MergeOptions& options);

}  // namespace attune::merge
