#pragma once
/// OpenMP runtimes that tell of themselves what their threads wait for: LLVM's and Intel's.

#include <stdint.h>

namespace attune::probe::hook {

/// One that tells. What its own code waits for, with the C library's functions, is part of what it tells.
struct TellingRuntime {
  uint64_t start, end;  ///< [start, end) in memory; both 0: none
};
constexpr uint32_t kMaxTellingRuntimes = 4;
extern TellingRuntime g_telling_runtimes[kMaxTellingRuntimes];

/// Whether a place lies in one of them.
inline bool IsInTellingRuntime(uint64_t site) {
  for (const TellingRuntime& runtime : g_telling_runtimes) {
    if (site >= __atomic_load_n(&runtime.start, __ATOMIC_RELAXED) &&
        site < __atomic_load_n(&runtime.end, __ATOMIC_RELAXED))
      return true;
  }
  return false;
}

}  // namespace attune::probe::hook
