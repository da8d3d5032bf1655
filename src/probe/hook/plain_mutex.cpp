#include "probe/hook/plain_mutex.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "probe/core.h"
#include "probe/hook/account.h"
#include "probe/hook/module.h"
#include "probe/hook/real.h"

namespace attune::probe::hook {
namespace {

constexpr int kNoKind = -1;
constexpr pthread_mutex_t kFree = PTHREAD_MUTEX_INITIALIZER;

/// All of their bytes, whatever the C library may keep there.
bool Same(const pthread_mutex_t& a, const pthread_mutex_t& b) {
  return memcmp(a.__size, b.__size, sizeof a.__size) == 0;
}

bool IsFree(const pthread_mutex_t& mutex) { return Same(mutex, kFree); }

/// Whether the thread has it and nobody waits, to the last bit.
bool IsTaken(const pthread_mutex_t& mutex) {
  pthread_mutex_t expected = kFree;
  expected.__data.__lock = 1;
  expected.__data.__owner = g_owner;
  expected.__data.__nusers = 1;
  return Same(mutex, expected);
}

/// For the session, which compares how often that is (wire::RingHeader).
void CountFutexCall() { __atomic_fetch_add(&g_process.header->mutex_futex_calls, 1, __ATOMIC_RELAXED); }

/// Each of us and the C library takes and gives back what the other one did.
bool Agree() {
  pthread_mutex_t mutex = kFree;
  if (g_real.pthread_mutex_lock(&mutex) != 0 || !IsTaken(mutex)) return false;
  if (TakeFree(&mutex) || GiveBackUnwaited(&mutex) != GivenBack::kUnwaited || !IsFree(mutex)) return false;
  if (!TakeFree(&mutex) || !IsTaken(mutex)) return false;
  if (g_real.pthread_mutex_trylock(&mutex) != EBUSY || !IsTaken(mutex)) return false;
  if (g_real.pthread_mutex_unlock(&mutex) != 0 || !IsFree(mutex)) return false;
  if (!TakeFree(&mutex)) return false;
  mutex.__data.__lock = kLockAwaited;
  if (GiveBackUnwaited(&mutex) != GivenBack::kRefused) return false;
  if (g_real.pthread_mutex_unlock(&mutex) != 0 || !IsFree(mutex)) return false;
  if (!TakeOrAwait(&mutex)) return false;  // as one who may not be the only one
  const GivenBack given = GiveBack(&mutex);
  return given == (__libc_single_threaded != 0 ? GivenBack::kUnwaited : GivenBack::kAwaited) && IsFree(mutex);
}

}  // namespace

constinit int g_plain_kind = kNoKind;
__thread int g_owner __attribute__((tls_model("initial-exec"))) = 0;

void LearnOwner() { g_owner = ThreadId(); }

void SleepOnce(pthread_mutex_t* mutex) {
  const int saved_errno = errno;
  CountFutexCall();
  NoteOwner(static_cast<uint32_t>(__atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED)));
  g_real.syscall(SYS_futex, reinterpret_cast<long>(&mutex->__data.__lock), FUTEX_WAIT_PRIVATE, kLockAwaited, 0, 0, 0);
  errno = saved_errno;
}

int WakeOne(const pthread_mutex_t* mutex) {
  const int saved_errno = errno;  // the memory may be gone by now: that is no error of the program's
  g_real.syscall(SYS_futex, reinterpret_cast<long>(&mutex->__data.__lock), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
  CountFutexCall();  // behind it: whoever sleeps is to be woken up at once
  errno = saved_errno;
  return 0;
}

constinit bool g_may_try = true;

namespace {

/// Whether it is the C library's own, and no other library's that has taken its place.
template <class Function>
bool IsOfLibrary(Function* function) {
  return InOneModule(reinterpret_cast<const void*>(&__errno_location), reinterpret_cast<const void*>(function));
}

bool LocksAreOfLibrary() {
  return IsOfLibrary(g_real.pthread_mutex_lock) && IsOfLibrary(g_real.pthread_mutex_unlock) &&
         IsOfLibrary(g_real.pthread_mutex_timedlock) && IsOfLibrary(g_real.pthread_rwlock_rdlock) &&
         IsOfLibrary(g_real.pthread_rwlock_wrlock) && IsOfLibrary(g_real.pthread_rwlock_unlock) &&
         IsOfLibrary(g_real.pthread_spin_lock) && IsOfLibrary(g_real.sem_wait) && IsOfLibrary(g_real.sem_timedwait);
}

}  // namespace

void LearnMutexes() {
  // Another library that takes the place of these functions wants to be called.
  g_may_try = LocksAreOfLibrary();
  if (!g_may_try) return;
  // With lock elision the C library marks a mutex when it is first locked.
  const char* tunables = secure_getenv("GLIBC_TUNABLES");
  if (tunables != nullptr && strstr(tunables, "elision") != nullptr) return;
  // A child made otherwise (clone) keeps its parent's id, which is read by nobody but debuggers.
  pthread_atfork(nullptr, nullptr, [] { g_owner = 0; });
  LearnOwner();
  g_plain_kind = kFree.__data.__kind;
  if (Agree()) {
    g_process.header->takes_mutexes = 1;
  } else {
    g_plain_kind = kNoKind;
  }
}

}  // namespace attune::probe::hook
