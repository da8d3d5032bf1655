#pragma once
/// Common parts of the report: its destination, its subject, and how figures and tables look. Each
/// file report_*.cpp prints what one part of the program's story is.

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/summary.h"
#include "cli/report/report_options.h"
#include "cli/terminal/terminal.h"

namespace attune::cli {

// Figures as people read them; "-": not known.
std::string Count(int64_t value);
std::string Bytes(int64_t value);
std::string Duration(int64_t ns);
std::string Percent(double share);
/// "1 process", "2 processes".
std::string Plural(int64_t count, std::string_view one);
/// How a process ended: "0", "3", "SIGKILL", "running"; "?" where attune did not see it.
std::string Ending(const model::Process& process, bool growing);

struct NumberColumn {
  const char* heading;
  bool can_be_spared = false;  ///< left out on a terminal so narrow that the name would not be readable
};
/// A table of numbers before a name, which is the last column.
TextTable NumbersBeforeName(const std::vector<NumberColumn>& columns);

struct ReportPage {
  const analysis::Summary& summary;
  FILE* stream;
  const ReportOptions& options;
  size_t width;              ///< terminal's width; 0: it is none
  mutable size_t lines = 0;  ///< printed by Line()

  void Line(const std::string& text) const;
  void Heading(const std::string& text, const std::string& note = "") const;
  /// The heading line of a table is dim.
  void Table(const TextTable& table) const;
  /// How many rows more there would be.
  void More(const std::string& text) const;
  void Field(const char* name, const std::string& value) const;
  static constexpr size_t kBelowClass = 19;
  /// By default below a finding's class. Its further lines begin where the first one's words do.
  void Paragraph(const std::string& mark, const std::string& text, size_t indent = kBelowClass) const;
  /// Value in the recording's info; "": it has none.
  std::string Info(std::string_view key) const;
};

// The parts. Each prints its heading too, and nothing where there is nothing to say.
void PrintFindings(const ReportPage& page);      // report_waits.cpp
void PrintAccount(const ReportPage& page);       // report_account.cpp
void PrintThreadCounts(const ReportPage& page);  // report_thread_counts.cpp
void PrintEfficiencies(const ReportPage& page);
void PrintWaits(const ReportPage& page);
void PrintCriticalPath(const ReportPage& page);
void PrintTaskGraph(const ReportPage& page);  // report_ranks.cpp
void PrintInfluence(const ReportPage& page);
void PrintProcesses(const ReportPage& page);   // report_processes.cpp
void PrintCpuProfile(const ReportPage& page);  // report_program.cpp
void PrintHotLines(const ReportPage& page);    // report_hot_lines.cpp
void PrintWork(const ReportPage& page);        // report_work.cpp
void PrintRegions(const ReportPage& page);
/// Part of the regions.
void PrintRegionCounts(const ReportPage& page);
void PrintMessages(const ReportPage& page);
void PrintCounters(const ReportPage& page);
void PrintMachine(const ReportPage& page);  // report_machine.cpp

}  // namespace attune::cli
