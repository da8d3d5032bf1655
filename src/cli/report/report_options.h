#pragma once
/// How the report is wanted.

#include <cstddef>
#include <string>

namespace attune::cli {

struct ReportOptions {
  bool json = false;
  size_t top = 10;        ///< rows a table; the rest is summed up in one line
  std::string recording;  ///< its path, named in the report; empty: not named
};

}  // namespace attune::cli
