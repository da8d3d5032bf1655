#pragma once
/// Facilities that attune can use here, as `info` and `doctor` show them.

#include <vector>

#include "cli/host/host_checks.h"
#include "cli/terminal/output.h"

namespace attune::cli {

nlohmann::ordered_json ChecksJson(const std::vector<Check>& checks);
/// On stdout. @param with_fix what mends it, too
void PrintChecks(const std::vector<Check>& checks, bool with_fix);

}  // namespace attune::cli
