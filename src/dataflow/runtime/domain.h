#pragma once
/// The instances of a kernel at one age: ranges of its index variables.

#include <string>

#include "attune/flow/kernel.h"

namespace attune::flow::detail {

/// Two fetches that bind a variable to different extents; without them, there are too many instances.
struct ExtentConflict {
  int variable = 0;
  const FieldAge* one = nullptr;
  int64_t extent = 0;
  const FieldAge* other = nullptr;
  int64_t other_extent = 0;
};

/// Sets `low` and `count` of the instances from what they fetch. @pre that is complete
/// @return how many there are; -1: `conflict` says why that cannot be told
int64_t FindDomain(const KernelInfo& kernel, KernelAge* instances, ExtentConflict* conflict);

}  // namespace attune::flow::detail
