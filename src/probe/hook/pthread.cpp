/// Mutexes, read-write locks, spin locks, conditions, barriers, semaphores and joins of the C library, seen from the
/// program: each function does what the real one does, and records it where anybody listens.
///
/// A lock is tried first: where it is free, nobody waits and no time is taken. Whatever a try says that is not "taken"
/// or "got it" is left to the real function to say again (recursive and error-checking mutexes). Mutexes with a
/// protocol (robust, priority inheritance, priority ceiling) are never tried: a try of a robust one that cannot be
/// recovered leaves it locked for ever (glibc 2.36).

#include <errno.h>

#include "probe/hook/account.h"
#include "probe/hook/real.h"

#define ATTUNE_HOOK extern "C" __attribute__((visibility("default")))

using attune::probe::Ticks;
using attune::probe::hook::Acquired;
using attune::probe::hook::Address;
using attune::probe::hook::Blaming;
using attune::probe::hook::Counted;
using attune::probe::hook::EndHold;
using attune::probe::hook::EntryOf;
using attune::probe::hook::g_real;
using attune::probe::hook::HandedOver;
using attune::probe::hook::HoldsAny;
using attune::probe::hook::Recording;
using attune::probe::hook::StartHold;
using attune::probe::hook::SyncEntry;
using attune::probe::hook::SyncKind;
using attune::probe::hook::Waited;

namespace {

/// A robust mutex whose owner died is acquired all the same; of those who meet at a barrier one is told so.
bool Came(SyncKind kind, int result) {
  if (kind == SyncKind::kMutex) return result == 0 || result == EOWNERDEAD;
  if (kind == SyncKind::kBarrier) return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD;
  return result == 0;
}

/// The try did not get it: waits, and says how long.
template <class Wait>
[[gnu::noinline]] int WaitFor(const void* object, const void* site, SyncKind kind, const Wait& wait) {
  const uint64_t before = Ticks();
  const int result = wait();
  const int saved_errno = errno;
  Waited(object, site, kind, before, Came(kind, result));
  errno = saved_errno;
  return result;
}

/// Locks that report by their result. @param attempt what the try said
template <class Wait>
[[gnu::always_inline]] inline int Lock(const void* object, const void* site, SyncKind kind, int attempt,
                                       const Wait& wait) {
  if (__builtin_expect(attempt == 0, 1)) {
    Acquired(object, site, kind);
    return 0;
  }
  return attempt == EBUSY ? WaitFor(object, site, kind, wait) : wait();
}

// Of glibc's __kind: robust 16, priority inheritance 32, priority ceiling 64.
constexpr int kProtocols = 0x70;
constexpr int kCeiling = 0x40;
constexpr uint32_t kFutexWaiters = 0x80000000;  // of a lock word that names its owner

/// Mutexes with a protocol: whether the call will have to wait is seen from the lock word alone.
template <class Wait>
[[gnu::noinline]] int LockWithProtocol(pthread_mutex_t* mutex, const void* site, const Wait& wait) {
  constexpr int kOwner = 0x3fffffff;
  if ((__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) & kOwner) != 0)
    return WaitFor(mutex, site, SyncKind::kMutex, wait);
  const int result = wait();
  if (Came(SyncKind::kMutex, result)) Acquired(mutex, site, SyncKind::kMutex);
  return result;
}

template <class Wait>
[[gnu::always_inline]] inline int LockMutex(pthread_mutex_t* mutex, const void* site, const Wait& wait) {
  if (__builtin_expect((mutex->__data.__kind & kProtocols) != 0, 0)) return LockWithProtocol(mutex, site, wait);
  return Lock(mutex, site, SyncKind::kMutex, g_real.pthread_mutex_trylock(mutex), wait);
}

// Whether a thread waits for it, as the object itself says (glibc's sysdeps/nptl). A thread that has only just come to
// wait may not be seen yet; one that has had what it waited for may be seen a while longer.

bool IsWaitedFor(const pthread_mutex_t* mutex) {
  constexpr int kKindMask = 3;
  constexpr uint32_t kCeilingLock = 0x7ffff;
  const auto lock = static_cast<uint32_t>(__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED));
  const int kind = mutex->__data.__kind;
  if ((kind & kKindMask) == PTHREAD_MUTEX_RECURSIVE_NP && mutex->__data.__count > 1) return false;  // it stays locked
  if ((kind & kCeiling) != 0) return (lock & kCeilingLock) > 1;
  if ((kind & kProtocols) != 0) return (lock & kFutexWaiters) != 0;
  return lock > 1;
}

bool IsWaitedFor(const pthread_rwlock_t* lock) {
  constexpr uint32_t kFutexUsed = 2;
  const auto readers = __atomic_load_n(&lock->__data.__wrphase_futex, __ATOMIC_RELAXED);
  const auto writers = __atomic_load_n(&lock->__data.__writers_futex, __ATOMIC_RELAXED);
  return ((readers | writers) & kFutexUsed) != 0;
}

bool IsWaitedFor(const pthread_cond_t* condition) {
  constexpr uint32_t kOneWaiter = 8;
  return __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) >= kOneWaiter;
}

bool IsWaitedFor(const sem_t* semaphore) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(semaphore), __ATOMIC_RELAXED) >> 32 != 0;
}

/// Releases what the thread is known to hold, and tells those who wait who had it. That is recorded behind the release,
/// so that nobody waits for it, with the time in front of it, so that it lies within their waits.
template <class Object, class Unlock>
[[gnu::noinline]] int ReleaseHeld(const Object* object, SyncKind kind, const Unlock& unlock) {
  const uint64_t site = EndHold(Address(object));
  if (site == 0 || !Blaming() || !IsWaitedFor(object)) return unlock();
  const uint64_t now = Ticks();
  const int result = unlock();
  HandedOver(object, site, kind, now);
  return result;
}

template <class Object, class Unlock>
[[gnu::always_inline]] inline int Release(const Object* object, SyncKind kind, const Unlock& unlock) {
  return __builtin_expect(HoldsAny(), 0) ? ReleaseHeld(object, kind, unlock) : unlock();
}

/// Wakes up those who wait. Whoever wakes nobody up is counted only.
template <class Object, class Wake>
[[gnu::always_inline]] inline int WakeUp(const Object* object, const void* site, const Wake& wake) {
  if (!Recording()) return wake();
  Counted(object, site, SyncKind::kWake);
  if (__builtin_expect(!Blaming() || !IsWaitedFor(object), 1)) return wake();
  const uint64_t now = Ticks();
  const int result = wake();
  HandedOver(object, Address(site), SyncKind::kWake, now);
  return result;
}

/// A wait for a condition gives the mutex up, and has it again at its end, acquired here.
template <class Wait>
[[gnu::always_inline]] inline int WaitForCondition(const pthread_cond_t* condition, const pthread_mutex_t* mutex,
                                                   const void* site, const Wait& wait) {
  if (__builtin_expect(HoldsAny(), 0)) ReleaseHeld(mutex, SyncKind::kMutex, [] { return 0; });
  const int result = WaitFor(condition, site, SyncKind::kCondition, wait);
  if (__builtin_expect(Blaming(), 0)) {
    SyncEntry* entry = EntryOf(Address(condition), Address(site), SyncKind::kCondition);
    if (entry != nullptr) StartHold(Address(mutex), entry, 0);
  }
  return result;
}

}  // namespace

#define ATTUNE_SITE __builtin_return_address(0)

ATTUNE_HOOK int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!Recording()) return g_real.pthread_mutex_lock(mutex);
  return LockMutex(mutex, ATTUNE_SITE, [=] { return g_real.pthread_mutex_lock(mutex); });
}

ATTUNE_HOOK int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const int result = g_real.pthread_mutex_trylock(mutex);
  if (Recording() && Came(SyncKind::kMutex, result)) Acquired(mutex, ATTUNE_SITE, SyncKind::kMutex);
  return result;
}

ATTUNE_HOOK int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_mutex_timedlock(mutex, limit);
  return LockMutex(mutex, ATTUNE_SITE, [=] { return g_real.pthread_mutex_timedlock(mutex, limit); });
}

ATTUNE_HOOK int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_mutex_clocklock(mutex, clock, limit);
  return LockMutex(mutex, ATTUNE_SITE, [=] { return g_real.pthread_mutex_clocklock(mutex, clock, limit); });
}

ATTUNE_HOOK int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  return Release(mutex, SyncKind::kMutex, [=] { return g_real.pthread_mutex_unlock(mutex); });
}

ATTUNE_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_rdlock(lock);
  return Lock(lock, ATTUNE_SITE, SyncKind::kReadLock, g_real.pthread_rwlock_tryrdlock(lock),
              [=] { return g_real.pthread_rwlock_rdlock(lock); });
}

ATTUNE_HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  const int result = g_real.pthread_rwlock_tryrdlock(lock);
  if (Recording() && result == 0) Acquired(lock, ATTUNE_SITE, SyncKind::kReadLock);
  return result;
}

ATTUNE_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_timedrdlock(lock, limit);
  return Lock(lock, ATTUNE_SITE, SyncKind::kReadLock, g_real.pthread_rwlock_tryrdlock(lock),
              [=] { return g_real.pthread_rwlock_timedrdlock(lock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_clockrdlock(lock, clock, limit);
  return Lock(lock, ATTUNE_SITE, SyncKind::kReadLock, g_real.pthread_rwlock_tryrdlock(lock),
              [=] { return g_real.pthread_rwlock_clockrdlock(lock, clock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_wrlock(lock);
  return Lock(lock, ATTUNE_SITE, SyncKind::kWriteLock, g_real.pthread_rwlock_trywrlock(lock),
              [=] { return g_real.pthread_rwlock_wrlock(lock); });
}

ATTUNE_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  const int result = g_real.pthread_rwlock_trywrlock(lock);
  if (Recording() && result == 0) Acquired(lock, ATTUNE_SITE, SyncKind::kWriteLock);
  return result;
}

ATTUNE_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_timedwrlock(lock, limit);
  return Lock(lock, ATTUNE_SITE, SyncKind::kWriteLock, g_real.pthread_rwlock_trywrlock(lock),
              [=] { return g_real.pthread_rwlock_timedwrlock(lock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_clockwrlock(lock, clock, limit);
  return Lock(lock, ATTUNE_SITE, SyncKind::kWriteLock, g_real.pthread_rwlock_trywrlock(lock),
              [=] { return g_real.pthread_rwlock_clockwrlock(lock, clock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return Release(lock, SyncKind::kWriteLock, [=] { return g_real.pthread_rwlock_unlock(lock); });
}

ATTUNE_HOOK int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  if (!Recording()) return g_real.pthread_spin_lock(lock);
  return Lock(const_cast<const int*>(lock), ATTUNE_SITE, SyncKind::kSpinLock, g_real.pthread_spin_trylock(lock),
              [=] { return g_real.pthread_spin_lock(lock); });
}

ATTUNE_HOOK int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  const int result = g_real.pthread_spin_trylock(lock);
  if (Recording() && result == 0) Acquired(const_cast<const int*>(lock), ATTUNE_SITE, SyncKind::kSpinLock);
  return result;
}

ATTUNE_HOOK int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  // A spin lock does not know who waits for it.
  if (__builtin_expect(HoldsAny(), 0)) EndHold(Address(const_cast<const int*>(lock)));
  return g_real.pthread_spin_unlock(lock);
}

// Not noexcept: they are cancellation points, and the unwinding goes through them.
ATTUNE_HOOK int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!Recording()) return g_real.pthread_cond_wait(condition, mutex);
  return WaitForCondition(condition, mutex, ATTUNE_SITE, [=] { return g_real.pthread_cond_wait(condition, mutex); });
}

ATTUNE_HOOK int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* limit) {
  if (!Recording()) return g_real.pthread_cond_timedwait(condition, mutex, limit);
  return WaitForCondition(condition, mutex, ATTUNE_SITE,
                          [=] { return g_real.pthread_cond_timedwait(condition, mutex, limit); });
}

ATTUNE_HOOK int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* limit) {
  if (!Recording()) return g_real.pthread_cond_clockwait(condition, mutex, clock, limit);
  return WaitForCondition(condition, mutex, ATTUNE_SITE,
                          [=] { return g_real.pthread_cond_clockwait(condition, mutex, clock, limit); });
}

ATTUNE_HOOK int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  return WakeUp(condition, ATTUNE_SITE, [=] { return g_real.pthread_cond_signal(condition); });
}

ATTUNE_HOOK int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  return WakeUp(condition, ATTUNE_SITE, [=] { return g_real.pthread_cond_broadcast(condition); });
}

ATTUNE_HOOK int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  if (!Recording()) return g_real.pthread_barrier_wait(barrier);
  return WaitFor(barrier, ATTUNE_SITE, SyncKind::kBarrier, [=] { return g_real.pthread_barrier_wait(barrier); });
}

namespace {

/// Semaphores say what is wrong by errno, which a try that finds nothing changes.
template <class Wait>
[[gnu::always_inline]] inline int Down(sem_t* semaphore, const void* site, const Wait& wait) {
  pthread_testcancel();  // as the real ones do, also where they need not wait
  const int saved_errno = errno;
  if (g_real.sem_trywait(semaphore) == 0) {
    Counted(semaphore, site, SyncKind::kSemaphore);
    return 0;
  }
  errno = saved_errno;
  return WaitFor(semaphore, site, SyncKind::kSemaphore, wait);
}

}  // namespace

ATTUNE_HOOK int sem_wait(sem_t* semaphore) {
  if (!Recording()) return g_real.sem_wait(semaphore);
  return Down(semaphore, ATTUNE_SITE, [=] { return g_real.sem_wait(semaphore); });
}

ATTUNE_HOOK int sem_timedwait(sem_t* semaphore, const timespec* limit) {
  if (!Recording()) return g_real.sem_timedwait(semaphore, limit);
  return Down(semaphore, ATTUNE_SITE, [=] { return g_real.sem_timedwait(semaphore, limit); });
}

ATTUNE_HOOK int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* limit) {
  if (!Recording()) return g_real.sem_clockwait(semaphore, clock, limit);
  return Down(semaphore, ATTUNE_SITE, [=] { return g_real.sem_clockwait(semaphore, clock, limit); });
}

ATTUNE_HOOK int sem_trywait(sem_t* semaphore) noexcept {
  const int result = g_real.sem_trywait(semaphore);
  if (Recording() && result == 0) Counted(semaphore, ATTUNE_SITE, SyncKind::kSemaphore);
  return result;
}

ATTUNE_HOOK int sem_post(sem_t* semaphore) noexcept {
  return WakeUp(semaphore, ATTUNE_SITE, [=] { return g_real.sem_post(semaphore); });
}

ATTUNE_HOOK int pthread_join(pthread_t thread, void** result) {
  if (!Recording()) return g_real.pthread_join(thread, result);
  // The object is the thread's handle: which thread that was is said by its creation.
  return WaitFor(reinterpret_cast<const void*>(thread), ATTUNE_SITE, SyncKind::kJoin,
                 [=] { return g_real.pthread_join(thread, result); });
}

ATTUNE_HOOK int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* limit) {
  if (!Recording()) return g_real.pthread_timedjoin_np(thread, result, limit);
  return WaitFor(reinterpret_cast<const void*>(thread), ATTUNE_SITE, SyncKind::kJoin,
                 [=] { return g_real.pthread_timedjoin_np(thread, result, limit); });
}

ATTUNE_HOOK int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock, const timespec* limit) {
  if (!Recording()) return g_real.pthread_clockjoin_np(thread, result, clock, limit);
  return WaitFor(reinterpret_cast<const void*>(thread), ATTUNE_SITE, SyncKind::kJoin,
                 [=] { return g_real.pthread_clockjoin_np(thread, result, clock, limit); });
}
