#pragma once
/// How the report is wanted.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/report/fail_on.h"

namespace attune::cli {

struct ReportOptions {
  bool json = false;
  size_t top = 10;                    ///< rows a table; the rest is summed up in one line
  bool full = false;                  ///< all sections
  std::vector<std::string> sections;  ///< names of sections; none: the first screen
  std::string recording;              ///< its path, named in the report; empty: not named
  std::vector<FailLimit> fail_on;     ///< for findings
};

}  // namespace attune::cli
