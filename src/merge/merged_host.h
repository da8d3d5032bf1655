#pragma once
/// Description of a host of a merged recording.

#include <cstddef>
#include <cstdint>
#include <string>

#include "merge/clock_offsets.h"

namespace attune::merge {

struct MergedHost {
  std::string file;
  std::string host;
  size_t ranks = 0;
  HostClock clock;
  int64_t offset_ns = 0;  ///< that was added to its first time
};

}  // namespace attune::merge
