#pragma once
/// The account as `attune report --json` (docs/report.md) and the page (docs/live.md) show it.

#include <nlohmann/json_fwd.hpp>

#include "analysis/account/account.h"

namespace attune::analysis {

/// null: nothing is known of any thread.
nlohmann::ordered_json ToJson(const Account& account);

}  // namespace attune::analysis
