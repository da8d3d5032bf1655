#pragma once
/// Report of `attune tune` from a recording, as text and as JSON.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::cli {

/// The last step of each decision, in their order.
Result<std::vector<model::Decision>> Decisions(model::Source& source);
/// A line: "openmp.team 0 -> 2: kept, 4.1 times as fast (95 %: 3.9 to 4.3)".
std::string DecisionLine(const model::Decision& decision);
/// {"objective":…,"decisions":[…],"whole_run":…} (docs/tuning.md)
Result<nlohmann::ordered_json> TuningJson(model::Source& source);
Status PrintTuning(model::Source& source, FILE* stream);

}  // namespace attune::cli
