#pragma once
/// Common parts of the hooks, the functions that interpose others.

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "probe/command.h"
#include "probe/hook/account.h"
#include "probe/hook/caller.h"

/// Declares a hook.
#define ATTUNE_HOOK extern "C" __attribute__((visibility("default")))
/// In a hook: its call site.
#define ATTUNE_SITE __builtin_return_address(0)

namespace attune::probe::hook {

/// Whether a call succeeded. A robust mutex whose owner died is acquired too, and one thread of a barrier gets
/// PTHREAD_BARRIER_SERIAL_THREAD.
inline bool Came(SyncKind kind, int result) {
  if (kind == SyncKind::kMutex) return result == 0 || result == EOWNERDEAD;
  if (kind == SyncKind::kBarrier) return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD;
  return result == 0;
}

/// Whether a call certainly has to wait.
enum class Waits : uint8_t { kSurely, kPerhaps };

/// Whether the object is a mutex or a read-write lock of the C library, which says who has it.
enum class Owner : uint8_t { kInObject, kUnknown };

/// The thread that a wait is for, as the C library knows it. 0: it does not
inline uint32_t OwnerOf(const void* object, SyncKind kind) {
  if (kind == SyncKind::kMutex)
    return static_cast<uint32_t>(
        __atomic_load_n(&static_cast<const pthread_mutex_t*>(object)->__data.__owner, __ATOMIC_RELAXED));
  if (kind == SyncKind::kReadLock || kind == SyncKind::kWriteLock)
    return static_cast<uint32_t>(
        __atomic_load_n(&static_cast<const pthread_rwlock_t*>(object)->__data.__cur_writer, __ATOMIC_RELAXED));
  return 0;
}

/// A semaphore knows nobody, also where it is a lock.
inline uint32_t OwnerOf(const sem_t*, SyncKind) { return 0; }

/// Waits after a failed try, and records the wait. With kPerhaps (no try), a quick call counts as no wait.
template <Owner owner = Owner::kInObject, class Object, class Wait>
[[gnu::noinline]] int WaitFor(const Object* object, const void* site, SyncKind kind, const Wait& wait,
                              Waits waits = Waits::kSurely) {
  TellEndedWaitsOfThread();
  const uint64_t before = Ticks();
  BeginWait(object, site, kind, before);
  if (owner == Owner::kInObject) NoteOwner(OwnerOf(object, kind));
  const int result = wait();
  const int saved_errno = errno;
  EndWait();
  const uint64_t now = TicksBehind();
  const bool came = Came(kind, result);
  if (waits == Waits::kSurely || now - before >= wire::kShortWaitTicks) {
    WaitedUntil(object, site, kind, before, now, came);
  } else if (came) {
    IsHeld(kind) ? Acquired(object, site, kind) : Counted(object, site, kind);
  }
  errno = saved_errno;
  return result;
}

/// False: another library interposes lock functions too. It must see each call of the program, so the probe tries no
/// lock first.
extern bool g_may_try;

/// Locks with an error code as result. @param attempt result of the try
template <class Wait>
[[gnu::always_inline]] inline int Lock(const void* object, const void* site, SyncKind kind, int attempt,
                                       const Wait& wait) {
  if (__builtin_expect(attempt == 0, 1)) {
    Acquired(object, site, kind);
    return 0;
  }
  return attempt == EBUSY ? WaitFor(object, site, kind, wait) : wait();
}

// Bits of glibc's __kind: robust 16, priority inheritance 32, priority ceiling 64.
constexpr int kProtocols = 0x70;
constexpr int kCeiling = 0x40;
constexpr int kKindMask = 3;
constexpr uint32_t kFutexWaiters = 0x80000000;  // bit in a lock word that names its owner

/// Whether the holder has acquired the recursive mutex more than once; the last acquisition cannot have waited.
inline bool IsHadBefore(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & kKindMask) == PTHREAD_MUTEX_RECURSIVE_NP && mutex->__data.__count > 1;
}

// Whether a thread waits for the object, by the object's own state (glibc's sysdeps/nptl). A thread that has just begun
// to wait may be missed; one whose wait has just ended may still count.

inline bool IsWaitedFor(const pthread_mutex_t* mutex) {
  constexpr uint32_t kCeilingLock = 0x7ffff;
  const auto lock = static_cast<uint32_t>(__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED));
  const int kind = mutex->__data.__kind;
  if (IsHadBefore(mutex)) return false;  // it stays locked
  if ((kind & kCeiling) != 0) return (lock & kCeilingLock) > 1;
  if ((kind & kProtocols) != 0) return (lock & kFutexWaiters) != 0;
  return lock > 1;
}

inline bool IsWaitedFor(const pthread_rwlock_t* lock) {
  constexpr uint32_t kFutexUsed = 2;
  const auto readers = __atomic_load_n(&lock->__data.__wrphase_futex, __ATOMIC_RELAXED);
  const auto writers = __atomic_load_n(&lock->__data.__writers_futex, __ATOMIC_RELAXED);
  return ((readers | writers) & kFutexUsed) != 0;
}

inline bool IsWaitedFor(const pthread_cond_t* condition) {
  constexpr uint32_t kOneWaiter = 8;
  return __atomic_load_n(&condition->__data.__wrefs, __ATOMIC_RELAXED) >= kOneWaiter;
}

inline bool IsWaitedFor(const sem_t* semaphore) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(semaphore), __ATOMIC_RELAXED) >> 32 != 0;
}

/// Releases a held object and records a lock handoff. Only the clock is read before the release; all else is done after
/// it, because work before it delays the wake-up, and two contending threads then sleep less often than they do without
/// attune. The time is the one before the release, so that it lies within the waits.
/// @param is_waited_for called before the release
template <class IsWaited, class Unlock>
[[gnu::always_inline]] inline int ReleaseHeld(const void* object, SyncKind kind, const IsWaited& is_waited_for,
                                              const Unlock& unlock) {
  const uint32_t index = FindHeld(Address(object));
  if (index == kMaxHeld) return unlock();
  const bool is_handed_over = Blaming() && is_waited_for();
  const bool is_traced = Tracing();
  const uint64_t now = is_handed_over || g_thread->held[index].IsTimed() ? Ticks() : 0;
  const uint64_t trace_ticks = !is_traced ? 0 : is_handed_over ? now : TraceTime(g_thread);
  const int result = unlock();
  const ThreadState::Held held = EndHold(Address(object), index, now);
  if (held.entry == nullptr) return result;
  if (held.IsToBeTold()) TellWait(held);
  if (is_handed_over) ReleasedAwaited(object, held.entry, kind, now);
  if (is_traced) TraceReleased(Address(object), held.entry, trace_ticks);
  return result;
}

/// Overload for objects that expose their waiters.
template <class Object, class Unlock>
[[gnu::noinline]] int ReleaseHeld(const Object* object, SyncKind kind, const Unlock& unlock) {
  return ReleaseHeld(static_cast<const void*>(object), kind, [object] { return IsWaitedFor(object); }, unlock);
}

template <class Object, class Unlock>
[[gnu::always_inline]] inline int Release(const Object* object, SyncKind kind, const Unlock& unlock) {
  return __builtin_expect(HoldsAny(), 0) ? ReleaseHeld(object, kind, unlock) : unlock();
}

/// Wakes waiters. A wake-up without waiters is only counted.
template <class Object, class Wake>
[[gnu::always_inline]] inline int WakeUp(const Object* object, const void* site, const Wake& wake) {
  if (!Recording()) return wake();
  Counted(object, site, SyncKind::kWake);
  if (__builtin_expect(!Blaming() || !IsWaitedFor(object), 1)) return wake();
  const uint64_t now = Ticks();
  const int result = wake();
  HandedOver(object, CallSite(Address(object), Address(site)), SyncKind::kWake, now);
  return result;
}

/// Waits for a condition: the mutex is released, and acquired again at this site at the end of the wait.
template <class Wait>
[[gnu::always_inline]] inline int WaitForCondition(const pthread_cond_t* condition, const pthread_mutex_t* mutex,
                                                   const void* site, const Wait& wait) {
  ServeCommand(site);
  if (__builtin_expect(HoldsAny(), 0)) ReleaseHeld(mutex, SyncKind::kMutex, [] { return 0; });
  const int result = WaitFor(condition, site, SyncKind::kCondition, wait);
  if (__builtin_expect(Blaming(), 0)) {
    SyncEntry* entry = EntryOf(Address(condition), Address(site), SyncKind::kCondition);
    if (entry != nullptr) StartHold(Address(mutex), entry, 0);
  }
  return result;
}

}  // namespace attune::probe::hook
