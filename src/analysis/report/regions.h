#pragma once
/// A program's regions: metrics over the events that were counted round them, and their JSON.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "analysis/report/program_events.h"

namespace attune::analysis {

/// Sets RegionSummary::metrics: those of all groups whose events were counted, attune's and the user's own. A user's
/// file that cannot be read adds none: `attune list groups` says why. @cost reads the files of groups, where anything
/// was counted
void AddMetrics(std::vector<RegionSummary>& regions);

/// As `program.regions[]` of docs/report.md.
nlohmann::ordered_json RegionJson(const RegionSummary& region);

}  // namespace attune::analysis
