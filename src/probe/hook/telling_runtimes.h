#pragma once
/// OpenMP runtimes that report the waits of their threads themselves (OMPT): LLVM's and Intel's.

#include <stdint.h>

namespace attune::probe::hook {

/// Address range of such a runtime. Waits of its own code in the C library are part of the waits that it reports.
struct TellingRuntime {
  uint64_t start, end;  ///< [start, end) in memory; start 0: end of the list; end 0: unloaded
};
constexpr uint32_t kMaxTellingRuntimes = 4;
extern TellingRuntime g_telling_runtimes[kMaxTellingRuntimes];

/// Whether a site is in one of these runtimes.
inline bool IsInTellingRuntime(uint64_t site) {
  for (const TellingRuntime& runtime : g_telling_runtimes) {
    const uint64_t start = __atomic_load_n(&runtime.start, __ATOMIC_RELAXED);
    if (start == 0) return false;
    if (site >= start && site < __atomic_load_n(&runtime.end, __ATOMIC_RELAXED)) return true;
  }
  return false;
}

}  // namespace attune::probe::hook
