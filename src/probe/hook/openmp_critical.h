#pragma once
/// Tracks the holders of OpenMP critical sections and locks from the calls. Critical sections have no try call, and the
/// clock is read only if another thread holds or waits.

#include <stdint.h>

#include "probe/hook/account.h"

namespace attune::probe::hook {

/// For calls that may or may not wait: shorter ones count as acquisitions without a wait. 0.5 to 1 us of a TSC.
constexpr uint64_t kShortTicks = 2048;

/// State of the critical sections and locks of one hash value. If two share an entry, only one is seen as held, and a
/// wait for either counts for both.
struct alignas(64) Critical {
  const void* held;    ///< the held object; nullptr: none
  const void* holder;  ///< thread pointer of its holder
  uint32_t waiting;    ///< threads that have arrived and do not hold it yet
  const void* site;    ///< last acquisition, if the runtime reported it
};

Critical& CriticalOf(const void* object);

inline bool IsTaken(const Critical& critical, const void* object) {
  return __atomic_load_n(&critical.held, __ATOMIC_RELAXED) == object;
}

inline bool IsWaitedFor(const Critical& critical) { return __atomic_load_n(&critical.waiting, __ATOMIC_RELAXED) != 0; }

inline void NoteTaken(Critical& critical, const void* object) {
  __atomic_store_n(&critical.holder, static_cast<const void*>(__builtin_thread_pointer()), __ATOMIC_RELAXED);
  __atomic_store_n(&critical.held, object, __ATOMIC_RELAXED);
}

/// @return whether this thread was the last one to acquire it
inline bool NoteReleased(Critical& critical, const void* object) {
  if (!IsTaken(critical, object) || __atomic_load_n(&critical.holder, __ATOMIC_RELAXED) != __builtin_thread_pointer())
    return false;
  __atomic_store_n(&critical.held, nullptr, __ATOMIC_RELAXED);
  return true;
}

/// The thread arrives; it counts as waiting until HasCome(). @return whether another thread holds it or waits for it
inline bool Come(Critical& critical, const void* object) {
  return __atomic_fetch_add(&critical.waiting, 1u, __ATOMIC_RELAXED) != 0 || IsTaken(critical, object);
}
inline void HasCome(Critical& critical) { __atomic_fetch_sub(&critical.waiting, 1u, __ATOMIC_RELAXED); }

}  // namespace attune::probe::hook
