#pragma once
/// Who is in a critical section or has a lock of OpenMP, as far as it is known from the calls: these have no try, and a
/// clock is read only where somebody is in the way.

#include <stdint.h>

#include "probe/hook/account.h"

namespace attune::probe::hook {

/// A wait shorter than that is counted, but is none: where nobody knows beforehand whether a call will have to wait.
/// Half a microsecond to one of a TSC.
constexpr uint64_t kShortTicks = 2048;

/// Critical sections and locks, by hash. Where two share an entry, one is not seen to be held, and both are taken to be
/// waited for.
struct alignas(64) Critical {
  const void* held;    ///< that somebody is in; nullptr: none
  const void* holder;  ///< that one's thread pointer
  uint32_t waiting;    ///< threads that have come and do not have it yet
  const void* site;    ///< where the program took it last, as far as the runtime said
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

/// @return whether this thread was the last that took it
inline bool NoteReleased(Critical& critical, const void* object) {
  if (!IsTaken(critical, object) || __atomic_load_n(&critical.holder, __ATOMIC_RELAXED) != __builtin_thread_pointer())
    return false;
  __atomic_store_n(&critical.held, nullptr, __ATOMIC_RELAXED);
  return true;
}

/// The thread comes, until HasCome(). @return whether anybody is in the way: has it, or has come too
inline bool Come(Critical& critical, const void* object) {
  return __atomic_fetch_add(&critical.waiting, 1u, __ATOMIC_RELAXED) != 0 || IsTaken(critical, object);
}
inline void HasCome(Critical& critical) { __atomic_fetch_sub(&critical.waiting, 1u, __ATOMIC_RELAXED); }

}  // namespace attune::probe::hook
