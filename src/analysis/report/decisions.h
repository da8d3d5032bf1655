#pragma once
/// Steps of tuning in a recording (docs/tuning.md).

#include <vector>

#include "analysis/documents/json_rows.h"
#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::analysis {

/// The last step of each decision, in their order. @cost a row a step
Result<std::vector<model::Decision>> LastDecisions(model::Source& source);

/// Those of them that were kept.
Result<std::vector<model::Decision>> KeptDecisions(model::Source& source);

/// Gains are parts: 0.5 is half as fast again.
Json DecisionJson(const model::Decision& decision);

}  // namespace attune::analysis
