#pragma once

#include "cli/report/report_page.h"

namespace attune::cli {

/// Nothing of a recording of one host.
void PrintHosts(const ReportPage& page);

}  // namespace attune::cli
