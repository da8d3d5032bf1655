#pragma once
/// Times at which findings lost what they lost: marks of a timeline.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/findings/finding.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct FindingPart {
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  int64_t lost_ns = 0;  ///< sum over all threads

  bool operator==(const FindingPart&) const = default;
};

/// The time of the source is divided into as many parts.
inline constexpr int64_t kFindingParts = 100;

/// For each finding the parts in which it lost time, in order; none: nothing recorded says when.
///
/// Waits count for a finding that has their object; without any such wait, those at its places do, also for the other
/// end of a pipe or socket. Findings of ranks have the states of these (rank_timeline.h), findings about queues for
/// CPUs the times queued of their threads, which are recorded about once a second, and those about threads that are
/// alone the stretches in which they were.
/// @cost nothing without findings; else a pass over the events, the messages and the rows of states; the messages a
/// second time where a finding is of ranks
Result<std::vector<std::vector<FindingPart>>> FindFindingTimes(model::Source& source,
                                                               std::span<const Finding> findings);

}  // namespace attune::analysis
