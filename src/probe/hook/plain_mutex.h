#pragma once
/// Locks and unlocks plain mutexes in place, because a call of the C library's function costs more than the operation.
///
/// Plain mutexes have no attributes (PTHREAD_MUTEX_INITIALIZER, std::mutex). They are handled only if LearnMutexes()
/// has verified that the C library treats them in the same way. All other mutexes go to the C library's functions.

#include <pthread.h>
#include <stdint.h>
#include <sys/single_threaded.h>

namespace attune::probe::hook {

/// The kind of plain mutexes; a value that no mutex has if none are handled. Constant after LearnMutexes().
extern int g_plain_kind;
/// The thread's id, as stored in the owner field of a mutex. 0: not determined yet, or this is a child made by fork.
extern __thread int g_owner __attribute__((tls_model("initial-exec")));

/// Verifies the C library's handling of mutexes. Call it once, in an attached process, before the program has threads.
void LearnMutexes();
/// Sets g_owner, so that the thread's next mutex can be taken in place.
void LearnOwner();

/// Whether TakeFree() can take the mutex if it is free.
inline bool CanTake(const pthread_mutex_t* mutex) { return mutex->__data.__kind == g_plain_kind && g_owner != 0; }

/// Takes the mutex if it is free. @return whether the thread holds it now; else nothing is changed
[[gnu::always_inline]] inline bool TakeFree(pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  if (__builtin_expect(!CanTake(mutex), 0)) return false;
  if (__libc_single_threaded != 0) {
    if (__builtin_expect(data.__lock != 0, 0)) return false;
    data.__lock = 1;
  } else {
    int expected = 0;
    if (__builtin_expect(
            !__atomic_compare_exchange_n(&data.__lock, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED), 0))
      return false;
  }
  data.__owner = g_owner;
  ++data.__nusers;
  return true;
}

// The contended path follows the C library step by step: with one try more, or a try a moment later, two contending
// threads would sleep far less often than they do without attune.

constexpr int kLockAwaited = 2;  ///< lock word of a mutex with waiters: its release must wake one of them

/// Marks the mutex as waited for, which takes it if it has become free. Call it immediately after a failed TakeFree().
/// @return whether the thread holds it now  @pre CanTake(mutex)
inline bool TakeOrAwait(pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  if (__atomic_load_n(&data.__lock, __ATOMIC_RELAXED) == kLockAwaited ||
      __atomic_exchange_n(&data.__lock, kLockAwaited, __ATOMIC_ACQUIRE) != 0)
    return false;
  data.__owner = g_owner;
  ++data.__nusers;
  return true;
}

/// Sleeps until the mutex may be free. Keeps errno.
void SleepOnce(pthread_mutex_t* mutex);

/// Sleeps until the thread holds the mutex. @param slept called after each sleep, before the try
/// @pre TakeOrAwait(mutex) returned false
template <class Slept>
void SleepUntilTaken(pthread_mutex_t* mutex, const Slept& slept) {
  do {
    SleepOnce(mutex);
    slept();
  } while (!TakeOrAwait(mutex));
}

/// Wakes one waiter of a released mutex. Keeps errno. @return 0, the result of the function that tail-calls it
int WakeOne(const pthread_mutex_t* mutex);

enum class GivenBack : uint8_t {
  kRefused,  ///< not a plain mutex; nothing is changed
  kUnwaited,
  kAwaited,  ///< has waiters, one of which must be woken
};

/// Releases the mutex by an exchange, with or without waiters, as the C library does. (A compare-and-exchange takes 5
/// ns longer on Intel processors.)
[[gnu::always_inline]] inline GivenBack GiveBack(pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  if (__builtin_expect(data.__kind != g_plain_kind, 0)) return GivenBack::kRefused;
  data.__owner = 0;
  --data.__nusers;
  if (__libc_single_threaded != 0) {
    data.__lock = 0;
    return GivenBack::kUnwaited;
  }
  const bool is_awaited = __atomic_exchange_n(&data.__lock, 0, __ATOMIC_RELEASE) > 1;
  return __builtin_expect(is_awaited, 0) ? GivenBack::kAwaited : GivenBack::kUnwaited;
}

/// As GiveBack(), if the mutex has no waiters, else kRefused. A thread that begins to wait meanwhile must still be
/// woken.
[[gnu::always_inline]] inline GivenBack GiveBackUnwaited(pthread_mutex_t* mutex) {
  const bool is_unwaited = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 1;
  return __builtin_expect(is_unwaited, 1) ? GiveBack(mutex) : GivenBack::kRefused;
}

}  // namespace attune::probe::hook
