#pragma once
/// Report of `attune tune` from a recording, as text and as JSON.

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/schema.h"
#include "model/source.h"

namespace attune::cli {

constexpr double PartOfPpm(int64_t ppm) { return static_cast<double>(ppm) * 1e-6; }

/// A line: "openmp.team 0 -> 2: kept, 4.1 times as fast (95 %: 3.9 to 4.3)".
std::string DecisionLine(const model::Decision& decision);
/// The rows of `decisions` in the document.
nlohmann::ordered_json DecisionsJson(std::span<const model::Decision> decisions);
/// Each with its reason, and with how to have it for good; where there is none, that nothing was tried.
void PrintDecisions(std::span<const model::Decision> decisions, FILE* stream);
/// {"objective":…,"decisions":[…],"whole_run":…} (docs/tuning.md)
Result<nlohmann::ordered_json> TuningJson(model::Source& source);
Status PrintTuning(model::Source& source, FILE* stream);

}  // namespace attune::cli
