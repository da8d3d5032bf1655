#pragma once
/// All findings about a program, in the order in which they matter.

#include <vector>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {

/// @return what hung first, then by what could be gained (gain.h); empty: nothing holds the program back that can be
/// seen
std::vector<Finding> FindFindings(const FindingInput& input);

}  // namespace attune::analysis
