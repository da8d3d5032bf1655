#pragma once
/// Taking a mutex that is free, and giving back one for which nobody waits, in place: what the C library's functions do
/// then is less work than it is to call them.
///
/// That is known of mutexes without attributes alone (PTHREAD_MUTEX_INITIALIZER, std::mutex), and only where the C
/// library turns out to handle its own as we do (LearnMutexes). All else is left to its functions.

#include <pthread.h>
#include <stdint.h>
#include <sys/single_threaded.h>

namespace attune::probe::hook {

/// The kind of mutexes that are known; one that no mutex has: none are. Constant after LearnMutexes().
extern int g_plain_kind;
/// The thread's id, as a mutex keeps it of who has it. 0: not asked for yet, or this is a child made by fork.
extern __thread int g_owner __attribute__((tls_model("initial-exec")));

/// Sees whether the C library's mutexes are known. Once, before the program's threads exist, in a process that
/// attached.
void LearnMutexes();
/// Sets g_owner, so that the thread's next mutex can be taken in place.
void LearnOwner();

/// Whether TakeFree() takes such a mutex if it is free.
inline bool CanTake(const pthread_mutex_t* mutex) { return mutex->__data.__kind == g_plain_kind && g_owner != 0; }

/// @return whether the thread has it now; else nothing is changed
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

// What the C library does behind its own try, step by step: one try more or a moment later, and two threads that
// contend would sleep far less often than they do without attune.

constexpr int kLockAwaited = 2;  ///< of the lock word: whoever gives it back has to wake somebody up

/// At once behind a TakeFree() that did not take it since another thread has it: says that it is waited for, which
/// takes it if it has come free meanwhile. @return whether the thread has it now  @pre CanTake(mutex)
inline bool TakeOrAwait(pthread_mutex_t* mutex) {
  auto& data = mutex->__data;
  if (__atomic_load_n(&data.__lock, __ATOMIC_RELAXED) == kLockAwaited ||
      __atomic_exchange_n(&data.__lock, kLockAwaited, __ATOMIC_ACQUIRE) != 0)
    return false;
  data.__owner = g_owner;
  ++data.__nusers;
  return true;
}

/// Sleeps until it may be free. Keeps errno.
void SleepOnce(pthread_mutex_t* mutex);

/// Sleeps until the thread has it. @param slept called behind each sleep, in front of the try
/// @pre TakeOrAwait(mutex) said no
template <class Slept>
void SleepUntilTaken(pthread_mutex_t* mutex, const Slept& slept) {
  do {
    SleepOnce(mutex);
    slept();
  } while (!TakeOrAwait(mutex));
}

/// Wakes up one of those who wait for a mutex that was given back. Keeps errno. @return 0, as the function does that
/// jumps here
int WakeOne(const pthread_mutex_t* mutex);

enum class GivenBack : uint8_t {
  kRefused,  ///< it is not one of those that are known, and nothing is changed
  kUnwaited,
  kAwaited,  ///< somebody waits, and has to be woken up
};

/// Gives it back, whoever waits, as the C library does: by an exchange. (To find out by a compare-and-exchange whether
/// somebody waits takes 5 ns longer on Intel's processors.)
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

/// As GiveBack(), where nobody waits. One who comes to wait just now is to be woken up all the same.
[[gnu::always_inline]] inline GivenBack GiveBackUnwaited(pthread_mutex_t* mutex) {
  const bool is_unwaited = __atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED) == 1;
  return __builtin_expect(is_unwaited, 1) ? GiveBack(mutex) : GivenBack::kRefused;
}

}  // namespace attune::probe::hook
