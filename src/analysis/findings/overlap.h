#pragma once
/// Findings that say the same of a process in general and in particular.

#include <vector>

#include "analysis/findings/finding.h"

namespace attune::analysis {

/// Removes from the findings what another one about the same process explains: that threads take turns, or wait for one
/// that does not keep up, is how it looks when results are waited for one by one, when threads sleep between looks, and
/// the like; and a woken herd queues for CPUs.
void LeaveOutExplained(std::vector<Finding>& findings);

}  // namespace attune::analysis
