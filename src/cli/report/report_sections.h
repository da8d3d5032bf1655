#pragma once
/// The parts of the report by their names. (report.cpp)

#include <span>
#include <string_view>

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

}  // namespace attune::cli
