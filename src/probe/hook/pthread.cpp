/// Mutexes, read-write locks, spin locks, conditions, barriers, semaphores and joins of the C library, seen from the
/// program: each function does what the real one does, and records it where anybody listens.
///
/// A lock is tried first: where it is free, nobody waits and no time is taken. (Not where another library wants to see
/// each call that locks.) Whatever a try says that is not "taken"
/// or "got it" is left to the real function to say again (recursive and error-checking mutexes). Mutexes with a
/// protocol (robust, priority inheritance, priority ceiling) are never tried: a try of a robust one that cannot be
/// recovered leaves it locked for ever (glibc 2.36).

#include "probe/hook/plain_mutex.h"
#include "probe/hook/python.h"
#include "probe/hook/real.h"
#include "probe/hook/telling_runtimes.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

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

/// @param attempt tries it
template <class Try, class Wait>
[[gnu::always_inline]] inline int TryLock(const void* object, const void* site, SyncKind kind, const Try& attempt,
                                          const Wait& wait) {
  if (__builtin_expect(!g_may_try, 0)) return WaitFor(object, site, kind, wait, Waits::kPerhaps);
  return Lock(object, site, kind, attempt(), wait);
}

template <class Wait>
[[gnu::always_inline]] inline int LockMutex(pthread_mutex_t* mutex, const void* site, const Wait& wait) {
  if (__builtin_expect((mutex->__data.__kind & kProtocols) != 0, 0)) return LockWithProtocol(mutex, site, wait);
  if (__builtin_expect(!g_may_try, 0)) return WaitFor(mutex, site, SyncKind::kMutex, wait, Waits::kPerhaps);
  const int attempt = g_real.pthread_mutex_trylock(mutex);
  if (__builtin_expect(attempt == 0 && IsHadBefore(mutex), 0)) {
    Acquired(mutex, site, SyncKind::kMutex, IfTaken::kGivesUp);
    return 0;
  }
  return Lock(mutex, site, SyncKind::kMutex, attempt, wait);
}

// This part serves the two functions that are called by far the most. They keep no registers: whatever is rare is a
// jump elsewhere.

[[gnu::noinline]] int AcquiredMutex(pthread_mutex_t* mutex, const void* site) {
  Acquired(mutex, site, SyncKind::kMutex);
  if (HasPassed()) CountPassed(g_thread);
  return 0;
}

/// Taken while mutexes pass. A thread that has no table yet gets one.
[[gnu::noinline]] int PassedMutex(pthread_mutex_t* mutex, const void* site) {
  if (IsPartOfMpi(SyncKind::kMutex) || IsInTellingRuntime(Address(site))) return 0;
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->table == nullptr) return AcquiredMutex(mutex, site);
  ++state->passed;
  return 0;
}

[[gnu::noinline]] int LockUnseen(pthread_mutex_t* mutex) {
  if (CanTake(mutex)) {  // that was the try
    if (!TakeOrAwait(mutex)) SleepUntilTaken(mutex, [] {});
    return 0;
  }
  if (g_owner == 0) LearnOwner();
  return g_real.pthread_mutex_lock(mutex);
}

/// A wait that is in the thread's table before the mutex is taken, so that it is not held longer for it; it is an event
/// only if it is long.
[[gnu::noinline]] void SleepPassing(pthread_mutex_t* mutex, const void* site) {
  const uint64_t before = Ticks();
  uint64_t now = before;
  SyncEntry* entry = EntryOf(Address(mutex), Address(site), SyncKind::kMutex);
  uint64_t told_ticks = 0;
  bool is_told = false;
  BeginWait(mutex, site, SyncKind::kMutex, before);
  SleepUntilTaken(mutex, [&] {
    now = Ticks();
    const uint64_t waited = now - before;
    if (entry == nullptr || (!is_told && waited >= wire::kShortWaitTicks)) return;
    if (!is_told) {
      ++entry->count;
      ++entry->contended;
    }
    entry->wait += waited - told_ticks;
    if (waited > entry->longest) entry->longest = waited;
    told_ticks = waited;
    is_told = true;
  });
  EndWait();
  if (!is_told) WaitedUntil(mutex, site, SyncKind::kMutex, before, now, true);
}

/// A wait of which all is recorded.
[[gnu::noinline]] void SleepSeen(pthread_mutex_t* mutex, const void* site) {
  const uint64_t before = Ticks();
  uint64_t now = before;
  SyncEntry* entry = BeginWait(mutex, site, SyncKind::kMutex, before);
  // In a deadlock nobody gets as far as to have it.
  if (entry != nullptr && entry->count == 0 && HoldsAny()) NoteOrder(Address(mutex), entry, before);
  SleepUntilTaken(mutex, [&now] { now = Ticks(); });
  EndWait();
  if (Tracing()) now = TicksBehind();  // in a trace it is had after who had it before has released it
  WaitedUntil(mutex, site, SyncKind::kMutex, before, now, true);
}

[[gnu::noinline]] int LockSeen(pthread_mutex_t* mutex, const void* site) {
  if (CanTake(mutex)) {  // that was the try
    if (TakeOrAwait(mutex))
      return MutexLevel() == wire::kRingMutexesPass ? PassedMutex(mutex, site) : AcquiredMutex(mutex, site);
    const int saved_errno = errno;
    TellEndedWaitsOfThread();
    MutexLevel() == wire::kRingMutexesPass ? SleepPassing(mutex, site) : SleepSeen(mutex, site);
    errno = saved_errno;
    return 0;
  }
  if (g_owner == 0) LearnOwner();
  return LockMutex(mutex, site, [=] { return g_real.pthread_mutex_lock(mutex); });
}

/// An acquisition whose time needs a clock's word in front. @return 0, as the function does that jumps here
[[gnu::noinline]] int TraceBeyondClock(SyncEntry* entry, uint64_t ticks) {
  TraceSlowly(TraceOp::kAcquired, entry->object, entry->site, SyncKind::kMutex, &entry->definition, ticks);
  return 0;
}

[[gnu::noinline]] int StampedMutex(pthread_mutex_t* mutex, const void* site) {
  ThreadState* state = g_thread;
  SyncEntry* last = StampableAgain(state, mutex, site, SyncKind::kMutex);
  if (last == nullptr) return AcquiredMutex(mutex, site);
  PushHeld(state, Address(mutex), last, 0);
  ++last->count;
  const uint64_t ticks = ReadTscBehind();
  if (IsBeyondClock(state, ticks)) return TraceBeyondClock(last, ticks);
  PutTraced(state, TraceOp::kAcquired, last, ticks);
  return 0;
}

[[gnu::noinline]] int TracedMutex(pthread_mutex_t* mutex, const void* site) {
  const uint32_t level = MutexLevel();
  if (level != wire::kRingLevelTrace)
    return level == wire::kRingMutexesPass ? PassedMutex(mutex, site) : StampedMutex(mutex, site);
  return TracedAgain(mutex, site, SyncKind::kMutex) ? 0 : AcquiredMutex(mutex, site);
}

}  // namespace

ATTUNE_HOOK int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  const bool taken = TakeFree(mutex);
  const uint32_t level = MutexLevel();
  if (__builtin_expect(level == wire::kRingLevelOff, 1)) return taken ? 0 : LockUnseen(mutex);
  if (!taken) return LockSeen(mutex, ATTUNE_SITE);
  if (__builtin_expect(level >= wire::kRingLevelTrace, 0)) return TracedMutex(mutex, ATTUNE_SITE);
  return AcquiredAgain(mutex, ATTUNE_SITE, SyncKind::kMutex, level) ? 0 : AcquiredMutex(mutex, ATTUNE_SITE);
}

namespace {

/// Tries of one mutex that found it taken and follow each other closely: a thread that spins.
struct Tries {
  uint64_t object;  ///< 0: there are none
  uint64_t since;
  uint64_t last;
  uint64_t spun;  ///< ticks before `since`: it has done something else, or had no CPU, in between
};
__thread Tries g_tries __attribute__((tls_model("initial-exec"))) = {};
/// Longer between two tries is work, rather than a pause. 6 to 12 us of a TSC.
constexpr uint64_t kLongestPauseTicks = 25'000;

[[gnu::noinline]] void FoundTaken(const void* object) {
  const uint64_t now = Ticks();
  if (g_tries.object != Address(object)) {
    g_tries = {.object = Address(object), .since = now, .last = now, .spun = 0};
  } else if (now - g_tries.last > kLongestPauseTicks) {
    g_tries.spun += g_tries.last - g_tries.since;
    g_tries.since = now;
  }
  g_tries.last = now;
}

/// Records the acquisition that ends the tries as a wait for a spin lock, which at this address the mutex is.
/// @return false: the tries were none
[[gnu::noinline]] bool EndTries(const void* object, const void* site) {
  const Tries tries = g_tries;
  g_tries.object = 0;
  const uint64_t now = Ticks();
  const uint64_t until = now - tries.last > kLongestPauseTicks ? tries.last : now;
  const uint64_t spun = tries.spun + (until - tries.since);
  if (tries.object != Address(object) || spun < wire::kShortWaitTicks) return false;
  const int saved_errno = errno;
  WaitedUntil(object, site, SyncKind::kSpinLock, now - spun, now, true);
  errno = saved_errno;
  return true;
}

}  // namespace

ATTUNE_HOOK int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const int result = g_real.pthread_mutex_trylock(mutex);
  if (!Recording()) return result;
  if (__builtin_expect(result == EBUSY, 0)) {
    FoundTaken(mutex);
  } else if (Came(SyncKind::kMutex, result)) {
    const bool is_waited = __builtin_expect(g_tries.object != 0, 0) && EndTries(mutex, ATTUNE_SITE);
    if (!is_waited) Acquired(mutex, ATTUNE_SITE, SyncKind::kMutex, IfTaken::kGivesUp);
  }
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

namespace {

/// The rest of an unlock: wakes up who waits, where it is for us to do.
[[gnu::always_inline]] inline int Unlocked(pthread_mutex_t* mutex, GivenBack given) {
  if (__builtin_expect(given == GivenBack::kUnwaited, 1)) return 0;
  return given == GivenBack::kAwaited ? WakeOne(mutex) : g_real.pthread_mutex_unlock(mutex);
}

[[gnu::noinline]] int UnlockHeld(pthread_mutex_t* mutex) {
  return ReleaseHeld(mutex, SyncKind::kMutex, [=] { return Unlocked(mutex, GiveBack(mutex)); });
}

/// @pre IsHeldOnTop(mutex)
[[gnu::noinline]] int UnlockStamped(pthread_mutex_t* mutex) {
  ThreadState* state = g_thread;
  SyncEntry* entry = state->held[state->held_count - 1].entry;
  if (entry->object != Address(mutex) || !IsTraced(state, entry) || !g_process.clock_is_tsc) return UnlockHeld(mutex);
  const uint64_t ticks = ReadTsc();
  if (IsBeyondClock(state, ticks)) return UnlockHeld(mutex);
  const GivenBack given = GiveBackUnwaited(mutex);
  if (given == GivenBack::kRefused) return UnlockHeld(mutex);
  PopHeld(state);
  PutTraced(state, TraceOp::kReleased, entry, ticks);
  return Unlocked(mutex, given);
}

/// As UnlockStamped, where it is not the turn of a time. Makes no call: see TracedAgain.
[[gnu::noinline]] int UnlockTraced(pthread_mutex_t* mutex) {
  if (SyncLevel() == wire::kRingLevelStamped) return UnlockStamped(mutex);
  ThreadState* state = g_thread;
  const SyncEntry* entry = state->held[state->held_count - 1].entry;
  if (entry->object != Address(mutex) || entry->definition == 0 || TimeIsDue(state)) return UnlockHeld(mutex);
  const GivenBack given = GiveBackUnwaited(mutex);
  if (given == GivenBack::kRefused) return UnlockHeld(mutex);
  PopHeld(state);
  PutTraced(state, TraceOp::kReleased, entry, 0);
  return Unlocked(mutex, given);
}

}  // namespace

ATTUNE_HOOK int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (HoldsAny()) {
    if (!IsHeldOnTop(mutex)) return UnlockHeld(mutex);
    if (Tracing()) return UnlockTraced(mutex);
    const GivenBack given = GiveBackUnwaited(mutex);
    if (given == GivenBack::kRefused) return UnlockHeld(mutex);
    PopHeld(g_thread);  // nobody waited, so nobody has to be told
    return Unlocked(mutex, given);
  }
  return Unlocked(mutex, GiveBack(mutex));
}

ATTUNE_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_rdlock(lock);
  return TryLock(
      lock, ATTUNE_SITE, SyncKind::kReadLock, [=] { return g_real.pthread_rwlock_tryrdlock(lock); },
      [=] { return g_real.pthread_rwlock_rdlock(lock); });
}

ATTUNE_HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  const int result = g_real.pthread_rwlock_tryrdlock(lock);
  if (Recording() && result == 0) Acquired(lock, ATTUNE_SITE, SyncKind::kReadLock, IfTaken::kGivesUp);
  return result;
}

ATTUNE_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_timedrdlock(lock, limit);
  return TryLock(
      lock, ATTUNE_SITE, SyncKind::kReadLock, [=] { return g_real.pthread_rwlock_tryrdlock(lock); },
      [=] { return g_real.pthread_rwlock_timedrdlock(lock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_clockrdlock(lock, clock, limit);
  return TryLock(
      lock, ATTUNE_SITE, SyncKind::kReadLock, [=] { return g_real.pthread_rwlock_tryrdlock(lock); },
      [=] { return g_real.pthread_rwlock_clockrdlock(lock, clock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_wrlock(lock);
  return TryLock(
      lock, ATTUNE_SITE, SyncKind::kWriteLock, [=] { return g_real.pthread_rwlock_trywrlock(lock); },
      [=] { return g_real.pthread_rwlock_wrlock(lock); });
}

ATTUNE_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  const int result = g_real.pthread_rwlock_trywrlock(lock);
  if (Recording() && result == 0) Acquired(lock, ATTUNE_SITE, SyncKind::kWriteLock, IfTaken::kGivesUp);
  return result;
}

ATTUNE_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_timedwrlock(lock, limit);
  return TryLock(
      lock, ATTUNE_SITE, SyncKind::kWriteLock, [=] { return g_real.pthread_rwlock_trywrlock(lock); },
      [=] { return g_real.pthread_rwlock_timedwrlock(lock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock, const timespec* limit) noexcept {
  if (!Recording()) return g_real.pthread_rwlock_clockwrlock(lock, clock, limit);
  return TryLock(
      lock, ATTUNE_SITE, SyncKind::kWriteLock, [=] { return g_real.pthread_rwlock_trywrlock(lock); },
      [=] { return g_real.pthread_rwlock_clockwrlock(lock, clock, limit); });
}

ATTUNE_HOOK int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return Release(lock, SyncKind::kWriteLock, [=] { return g_real.pthread_rwlock_unlock(lock); });
}

ATTUNE_HOOK int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  if (!Recording()) return g_real.pthread_spin_lock(lock);
  return TryLock(
      const_cast<const int*>(lock), ATTUNE_SITE, SyncKind::kSpinLock, [=] { return g_real.pthread_spin_trylock(lock); },
      [=] { return g_real.pthread_spin_lock(lock); });
}

ATTUNE_HOOK int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  const int result = g_real.pthread_spin_trylock(lock);
  if (Recording() && result == 0)
    Acquired(const_cast<const int*>(lock), ATTUNE_SITE, SyncKind::kSpinLock, IfTaken::kGivesUp);
  return result;
}

ATTUNE_HOOK int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  const auto unlock = [=] { return g_real.pthread_spin_unlock(lock); };
  if (__builtin_expect(!HoldsAny(), 1)) return unlock();
  // It does not know who waits for it.
  return ReleaseHeld(const_cast<const int*>(lock), SyncKind::kSpinLock, [] { return false; }, unlock);
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
  ServeCommand(ATTUNE_SITE);
  return WakeUp(condition, ATTUNE_SITE, [=] { return g_real.pthread_cond_signal(condition); });
}

ATTUNE_HOOK int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  ServeCommand(ATTUNE_SITE);
  return WakeUp(condition, ATTUNE_SITE, [=] { return g_real.pthread_cond_broadcast(condition); });
}

ATTUNE_HOOK int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  if (!Recording()) return g_real.pthread_barrier_wait(barrier);
  ServeCommand(ATTUNE_SITE);
  return WaitFor(barrier, ATTUNE_SITE, SyncKind::kBarrier, [=] { return g_real.pthread_barrier_wait(barrier); });
}

namespace {

/// The role of a semaphore at a site that takes or releases it.
[[gnu::always_inline]] inline SyncKind KindOfSemaphore(const void* site) {
  if (!HasPython()) return SyncKind::kSemaphore;
  if (IsPythonLock(Address(site))) return SyncKind::kMutex;
  return IsPythonFuture(Address(site)) ? SyncKind::kFuture : SyncKind::kSemaphore;
}

[[gnu::always_inline]] inline void Took(const sem_t* semaphore, const void* site, SyncKind kind, IfTaken if_taken) {
  IsHeld(kind) ? Acquired(semaphore, site, kind, if_taken) : Counted(semaphore, site, kind);
}

/// Semaphores say what is wrong by errno, which a try that finds nothing changes.
template <class Wait>
[[gnu::always_inline]] inline int Down(sem_t* semaphore, const void* site, const Wait& wait) {
  const SyncKind kind = KindOfSemaphore(site);
  if (__builtin_expect(!g_may_try, 0)) return WaitFor(semaphore, site, kind, wait, Waits::kPerhaps);
  pthread_testcancel();  // as the real ones do, also where they need not wait
  const int saved_errno = errno;
  if (g_real.sem_trywait(semaphore) == 0) {
    Took(semaphore, site, kind, IfTaken::kWaits);
    return 0;
  }
  errno = saved_errno;
  return WaitFor(semaphore, site, kind, wait);
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
  if (Recording() && result == 0) Took(semaphore, ATTUNE_SITE, KindOfSemaphore(ATTUNE_SITE), IfTaken::kGivesUp);
  return result;
}

ATTUNE_HOOK int sem_post(sem_t* semaphore) noexcept {
  const auto post = [=] { return g_real.sem_post(semaphore); };
  if (Recording() && KindOfSemaphore(ATTUNE_SITE) == SyncKind::kMutex)
    return Release(semaphore, SyncKind::kMutex, post);
  return WakeUp(semaphore, ATTUNE_SITE, post);
}

namespace {

/// The id of a thread that may be joined; 0: it has ended.
uint32_t ThreadIdOf(pthread_t thread) {
  clockid_t clock;
  return pthread_getcpuclockid(thread, &clock) == 0 ? static_cast<uint32_t>(~(clock >> 3)) : 0;
}

/// The object is the thread's handle. The C++ library waits so for the result of std::async, too.
template <class Wait>
[[gnu::always_inline]] inline int Join(pthread_t thread, const void* site, const Wait& wait) {
  const Caller caller = FindCaller(Address(site));
  const bool is_future = caller.meaning == SyncKind::kFuture;
  const uint32_t owner = ThreadIdOf(thread);
  return WaitFor(reinterpret_cast<const void*>(is_future ? wire::kCallObject : thread),
                 reinterpret_cast<const void*>(caller.site), is_future ? SyncKind::kFuture : SyncKind::kJoin, [&] {
                   NoteOwner(owner);
                   return wait();
                 });
}

}  // namespace

ATTUNE_HOOK int pthread_join(pthread_t thread, void** result) {
  if (!Recording()) return g_real.pthread_join(thread, result);
  return Join(thread, ATTUNE_SITE, [=] { return g_real.pthread_join(thread, result); });
}

ATTUNE_HOOK int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* limit) {
  if (!Recording()) return g_real.pthread_timedjoin_np(thread, result, limit);
  return Join(thread, ATTUNE_SITE, [=] { return g_real.pthread_timedjoin_np(thread, result, limit); });
}

ATTUNE_HOOK int pthread_clockjoin_np(pthread_t thread, void** result, clockid_t clock, const timespec* limit) {
  if (!Recording()) return g_real.pthread_clockjoin_np(thread, result, clock, limit);
  return Join(thread, ATTUNE_SITE, [=] { return g_real.pthread_clockjoin_np(thread, result, clock, limit); });
}

}  // namespace attune::probe::hook
