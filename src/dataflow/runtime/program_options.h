#pragma once
/// Command line of programs of the P2G language.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/flow/graph.h"

namespace attune::flow::detail {

/// An instance whose inputs are in a kept file, to be run again.
struct ReplayRequest {
  std::string file;    ///< empty: a run
  std::string kernel;  ///< empty: the instance at which the run failed
  int64_t age = -1;    ///< -1: not said
  std::vector<int64_t> index;
};

struct ProgramOptions {
  RunOptions run;
  ReplayRequest replay;
  bool costs = false;
};

/// @param words without the program's name. @return std::nullopt: `problem` says what is wrong, in one sentence
std::optional<ProgramOptions> ReadProgramOptions(const std::vector<std::string_view>& words, std::string* problem);

}  // namespace attune::flow::detail
