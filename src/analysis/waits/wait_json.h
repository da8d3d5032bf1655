#pragma once
/// What was waited for as `attune report --json` shows it (docs/report.md).

#include <nlohmann/json_fwd.hpp>

#include "analysis/waits/wait_summary.h"

namespace attune::analysis {

nlohmann::ordered_json ToJson(const WaitSummary& waits);

}  // namespace attune::analysis
