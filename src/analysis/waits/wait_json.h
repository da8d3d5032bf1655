#pragma once
/// Waits and the critical path as `attune report --json` shows it (docs/report.md).

#include <nlohmann/json_fwd.hpp>

#include "analysis/waits/critical_path.h"
#include "analysis/waits/wait_summary.h"

namespace attune::analysis {

nlohmann::ordered_json ToJson(const WaitSummary& waits);
/// null: there is nothing to say.
nlohmann::ordered_json ToJson(const CriticalPath& path);

}  // namespace attune::analysis
