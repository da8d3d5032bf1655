#pragma once
/// Graphs of a P2G program as text: `attune p2g graph`.

#include <string>

#include "base/result.h"
#include "dataflow/language/syntax.h"

namespace attune::cli {

struct GraphOptions {
  bool kernels = false;  ///< without fields
  std::string unroll;    ///< the last age of a graph of ages; empty: the static one
  bool graphml = false;
  bool json = false;  ///< else DOT
};

/// Error: kInvalidArgument: the options make no sense together, or the age is none
Result<std::string> GraphText(const flow::language::ProgramText& program, const std::string& name,
                              const GraphOptions& options);

}  // namespace attune::cli
