#pragma once
/// The critical path as `attune report --json` shows it (docs/report.md).

#include <nlohmann/json_fwd.hpp>

#include "analysis/waits/critical_path.h"

namespace attune::analysis {

/// null: there is nothing to say.
nlohmann::ordered_json ToJson(const CriticalPath& path);

}  // namespace attune::analysis
