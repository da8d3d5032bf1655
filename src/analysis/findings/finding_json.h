#pragma once
/// Findings as `attune report --json` shows them (docs/report.md).

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "analysis/findings/finding.h"

namespace attune::analysis {

nlohmann::ordered_json ToJson(std::span<const Finding> findings);

}  // namespace attune::analysis
