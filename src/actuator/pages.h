#pragma once
/// Pages of the memory of another process.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/host_root.h"

namespace attune::actuator {

struct MemoryRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// Writable memory that is of no file, of the process alone. Error: kNotFound
Result<std::vector<MemoryRange>> OwnMemory(const HostRoot& host, pid_t pid);

}  // namespace attune::actuator
