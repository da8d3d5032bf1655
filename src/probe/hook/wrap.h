#pragma once
/// What the functions that take another one's place have in common.

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "probe/hook/account.h"

/// A function that the program calls in another one's place.
#define ATTUNE_HOOK extern "C" __attribute__((visibility("default")))
/// In such a function: where it was called.
#define ATTUNE_SITE __builtin_return_address(0)

namespace attune::probe::hook {

/// Whether a call ended with what was waited for. A robust mutex whose owner died is acquired all the same; of those
/// who meet at a barrier one is told so.
inline bool Came(SyncKind kind, int result) {
  if (kind == SyncKind::kMutex) return result == 0 || result == EOWNERDEAD;
  if (kind == SyncKind::kBarrier) return result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD;
  return result == 0;
}

/// Whether it is known that a call will have to wait.
enum class Waits : uint8_t { kSurely, kPerhaps };

/// The try did not get it: waits, and says how long. Without a try, whoever was quick did not wait.
template <class Wait>
[[gnu::noinline]] int WaitFor(const void* object, const void* site, SyncKind kind, const Wait& wait,
                              Waits waits = Waits::kSurely) {
  TellEndedWaitsOfThread();
  const uint64_t before = Ticks();
  BeginWait(object, site, kind, before);
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

/// False: another library has taken the place of functions that lock. It is to see each call of the program's, so
/// nothing is tried before.
extern bool g_may_try;

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
constexpr int kKindMask = 3;
constexpr uint32_t kFutexWaiters = 0x80000000;  // of a lock word that names its owner

/// Whether the thread that has the mutex has acquired it more than once: the last time it could not have had to wait.
inline bool IsHadBefore(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & kKindMask) == PTHREAD_MUTEX_RECURSIVE_NP && mutex->__data.__count > 1;
}

// Whether a thread waits for it, as the object itself says (glibc's sysdeps/nptl). A thread that has only just come to
// wait may not be seen yet; one that has had what it waited for may be seen a while longer.

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

/// Releases what the thread is known to hold, and tells those who wait who had it. All but the clock's reading is done
/// behind the release: who waits is woken up later by whatever comes before it, and two threads that contend then sleep
/// less often than they do without attune. The time is that in front of it, so that it lies within their waits.
/// @param is_waited_for asked before the release
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

/// Of what knows itself who waits for it.
template <class Object, class Unlock>
[[gnu::noinline]] int ReleaseHeld(const Object* object, SyncKind kind, const Unlock& unlock) {
  return ReleaseHeld(static_cast<const void*>(object), kind, [object] { return IsWaitedFor(object); }, unlock);
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

}  // namespace attune::probe::hook
