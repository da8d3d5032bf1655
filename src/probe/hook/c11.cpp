/// Mutexes, conditions and joins of C11's <threads.h>. The C library calls its POSIX functions behind them directly, so
/// that those of pthread.cpp never come to know of it.
///
/// They report by codes of their own: what is no success is handed on as it is.

#include <threads.h>

#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

static_assert(thrd_success == 0, "as Came() has it");

/// glibc's are its POSIX ones inside.
const pthread_mutex_t* Posix(const mtx_t* mutex) { return reinterpret_cast<const pthread_mutex_t*>(mutex); }
const pthread_cond_t* Posix(const cnd_t* condition) { return reinterpret_cast<const pthread_cond_t*>(condition); }

/// @param wait the function that the program called
template <class Wait>
[[gnu::always_inline]] inline int LockMutex(mtx_t* mutex, const void* site, const Wait& wait) {
  const int attempt = g_real.mtx_trylock(mutex);
  if (attempt == thrd_success && IsHadBefore(Posix(mutex))) {
    Acquired(mutex, site, SyncKind::kMutex, IfTaken::kGivesUp);
    return attempt;
  }
  return Lock(mutex, site, SyncKind::kMutex, attempt == thrd_busy ? EBUSY : attempt, wait);
}

}  // namespace

ATTUNE_HOOK int mtx_lock(mtx_t* mutex) {
  if (!Recording()) return g_real.mtx_lock(mutex);
  return LockMutex(mutex, ATTUNE_SITE, [=] { return g_real.mtx_lock(mutex); });
}

ATTUNE_HOOK int mtx_timedlock(mtx_t* mutex, const timespec* limit) {
  if (!Recording()) return g_real.mtx_timedlock(mutex, limit);
  return LockMutex(mutex, ATTUNE_SITE, [=] { return g_real.mtx_timedlock(mutex, limit); });
}

ATTUNE_HOOK int mtx_trylock(mtx_t* mutex) {
  const int result = g_real.mtx_trylock(mutex);
  if (Recording() && result == thrd_success) Acquired(mutex, ATTUNE_SITE, SyncKind::kMutex, IfTaken::kGivesUp);
  return result;
}

ATTUNE_HOOK int mtx_unlock(mtx_t* mutex) {
  return Release(Posix(mutex), SyncKind::kMutex, [=] { return g_real.mtx_unlock(mutex); });
}

ATTUNE_HOOK int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  if (!Recording()) return g_real.cnd_wait(condition, mutex);
  return WaitForCondition(Posix(condition), Posix(mutex), ATTUNE_SITE,
                          [=] { return g_real.cnd_wait(condition, mutex); });
}

ATTUNE_HOOK int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* limit) {
  if (!Recording()) return g_real.cnd_timedwait(condition, mutex, limit);
  return WaitForCondition(Posix(condition), Posix(mutex), ATTUNE_SITE,
                          [=] { return g_real.cnd_timedwait(condition, mutex, limit); });
}

ATTUNE_HOOK int cnd_signal(cnd_t* condition) {
  ServeCommand(ATTUNE_SITE);
  return WakeUp(Posix(condition), ATTUNE_SITE, [=] { return g_real.cnd_signal(condition); });
}

ATTUNE_HOOK int cnd_broadcast(cnd_t* condition) {
  ServeCommand(ATTUNE_SITE);
  return WakeUp(Posix(condition), ATTUNE_SITE, [=] { return g_real.cnd_broadcast(condition); });
}

ATTUNE_HOOK int thrd_join(thrd_t thread, int* result) {
  if (!Recording()) return g_real.thrd_join(thread, result);
  return WaitFor(reinterpret_cast<const void*>(thread), ATTUNE_SITE, SyncKind::kJoin,
                 [=] { return g_real.thrd_join(thread, result); });
}

}  // namespace attune::probe::hook
