#pragma once
/// The machine as boxes within boxes, for a terminal.

#include <string>

#include "machine/topology.h"

namespace attune::machine {

struct DrawingOptions {
  size_t width = 100;     ///< columns; what is wider at its smallest is not cut
  size_t max_lines = 30;  ///< parts that are alike are drawn once until it fits
  bool unicode = true;    ///< box-drawing characters, else + - |
  CpuSet allowed;         ///< CPUs that may be used; if these are not all, each part says which
};

/// Lines that end with '\n'. Parts that are alike stand in one box where there are many: "node0 to node35: 36 alike".
std::string Draw(const Topology& topology, const DrawingOptions& options);

}  // namespace attune::machine
