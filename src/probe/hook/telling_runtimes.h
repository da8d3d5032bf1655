#pragma once
/// OpenMP runtimes that tell of themselves what their threads wait for: LLVM's and Intel's.

#include <stdint.h>

namespace attune::probe::hook {

/// One that tells. What its own code waits for, with the C library's functions, is part of what it tells.
struct TellingRuntime {
  uint64_t start, end;  ///< [start, end) in memory; start 0: none, nor behind it; end 0: none any more
};
constexpr uint32_t kMaxTellingRuntimes = 4;
extern TellingRuntime g_telling_runtimes[kMaxTellingRuntimes];

/// Whether a place lies in one of them.
inline bool IsInTellingRuntime(uint64_t site) {
  for (const TellingRuntime& runtime : g_telling_runtimes) {
    const uint64_t start = __atomic_load_n(&runtime.start, __ATOMIC_RELAXED);
    if (start == 0) return false;
    if (site >= start && site < __atomic_load_n(&runtime.end, __ATOMIC_RELAXED)) return true;
  }
  return false;
}

}  // namespace attune::probe::hook
