#pragma once
/// Keys of the info table (model/info_keys.h) that tell of MPI jobs, and of the hosts of one.

#include <string_view>

namespace attune::model::info {

/// + the number of an MPI job, from 1 on: what the job is known by, the same on all of its hosts (hexadecimal). Ranks
/// of the first are called "rank 3", of the others "rank 3 of job 2".
inline constexpr std::string_view kMpiWorldPrefix = "mpi_world.";

// Keys of a recording joined from those of several hosts (docs/merge.md): how many, and for each of them, from 1 on,
// merged.NUMBER. + one of the others.
inline constexpr std::string_view kMergedHosts = "merged_hosts";
inline constexpr std::string_view kMergedPrefix = "merged.";
inline constexpr std::string_view kMergedHost = "host";           ///< its name
inline constexpr std::string_view kMergedFile = "file";           ///< the recording
inline constexpr std::string_view kMergedOffsetNs = "offset_ns";  ///< was added to its first time
inline constexpr std::string_view kMergedDriftPpb = "drift_ppb";  ///< mean drift of its clock against the first host's
inline constexpr std::string_view kMergedBoundNs = "bound_ns";    ///< that its times may be off, at most
inline constexpr std::string_view kMergedEvidence = "evidence";   ///< how the offset was found, in words
/// merged. + this: messages between the hosts that arrive before they left all the same.
inline constexpr std::string_view kMergedBackward = "backward";

}  // namespace attune::model::info
