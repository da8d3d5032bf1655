#pragma once
/// The report: one screen about a recording or a live session.

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/report/report_options.h"
#include "model/source.h"

namespace attune::cli {

struct ReportPage;

/// A part of the report, which prints nothing where there is nothing to say.
struct ReportSection {
  std::string_view name;
  std::string_view about;  ///< a line, lower case, no full stop
  void (*print)(const ReportPage& page);
};
/// In the order of the whole report.
std::span<const ReportSection> ReportSections();

/// Reads all of the source and prints. Colours and the cutting of long lines depend on what `stream` is.
/// @return a line for each finding that exceeds a limit of options.fail_on
Result<std::vector<std::string>> PrintReport(model::Source& source, FILE* stream, const ReportOptions& options);

}  // namespace attune::cli
