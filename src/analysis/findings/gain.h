#pragma once
/// How much shorter a run could be without what a finding is about, and the order of findings that follows from it
/// (docs/findings.md).

#include <cstdint>
#include <vector>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {

/// Less of the run is not worth a change: two runs of the same program differ by more.
inline constexpr double kLeastGainShare = 0.01;

/// The most by which the run would be shorter without this loss, whatever else changes: it is no more than the loss
/// itself, and the work of its processes, and of all processes, still needs the CPUs (without what was spun in the
/// loss). CPU time that is saved was that of all CPUs in use.
/// @return nanoseconds of wall time @cost linear in threads
int64_t BoundGain(const FindingInput& input, const Finding& finding);

/// Bounds the gain of findings whose class did not, drops those that cannot gain anything that can be noticed (Cost
/// says which need not), and sorts: what hung, then by gain, then by time lost.
void RankByGain(const FindingInput& input, std::vector<Finding>& findings);

}  // namespace attune::analysis
