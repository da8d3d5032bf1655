#pragma once
/// Places of findings in code without symbols: programs of distributions have names for what their libraries export
/// alone.

#include <vector>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {

/// Gives each site of a finding that has no name the function with a name from which CPU samples mostly come there.
/// @cost a look-up of each place of each sampled call path, if there is such a site
void NameCallers(const FindingInput& input, std::vector<Finding>& findings);

}  // namespace attune::analysis
