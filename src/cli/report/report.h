#pragma once
/// The report: one screen about a recording or a live session.

#include <cstdio>
#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::cli {

struct ReportOptions {
  bool json = false;
  size_t top = 10;        ///< rows a table; the rest is summed up in one line
  std::string recording;  ///< its path, named in the report; empty: not named
};

/// Reads all of the source and prints. Colours and the cutting of long lines depend on what `stream` is.
Result<void> PrintReport(model::Source& source, FILE* stream, const ReportOptions& options);

}  // namespace attune::cli
