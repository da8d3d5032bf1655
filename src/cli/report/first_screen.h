#pragma once
/// The report's first screen: 24 lines of 80 columns, with what ran, how it used the CPUs, what holds it back and what
/// to type next.

#include <string>
#include <string_view>

#include "cli/report/report_page.h"

namespace attune::cli {

void PrintFirstScreen(const ReportPage& page);

/// End of the program; of several (the ranks of a job), how many failed. With colours. (report.cpp)
std::string EndingOfAll(const ReportPage& page);
/// Command line that ran, cut short nowhere. (report.cpp)
std::string ProgramName(const ReportPage& page);
/// Contents of a section of the report, as `attune report --help` says it. (report.cpp)
std::string_view AboutSection(std::string_view name);
/// Whether something of the program is missing: gaps, damage, what could not be seen. Sensors that the machine has not
/// take nothing away from what is said of it. (report.cpp)
bool MissesAnything(const ReportPage& page);

}  // namespace attune::cli
