#pragma once
/// The report: one screen about a recording or a live session.

#include <cstdio>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/report/report_options.h"
#include "cli/report/report_sections.h"
#include "model/source.h"

namespace attune::cli {

/// Reads all of the source and prints. Colours and the cutting of long lines depend on what `stream` is.
/// @return a line for each finding that exceeds a limit of options.fail_on
Result<std::vector<std::string>> PrintReport(model::Source& source, FILE* stream, const ReportOptions& options);

}  // namespace attune::cli
