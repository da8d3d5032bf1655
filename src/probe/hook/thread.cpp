/// Creation of threads, and waiting for child processes: how long the calls take, and where they are made.

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <threads.h>

#include "probe/hook/real.h"
#include "probe/hook/timed_call.h"

namespace attune::probe::hook {

ATTUNE_HOOK int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                               void* argument) noexcept {
  return TimedCall(
      SyncKind::kCreate, ATTUNE_SITE, [=] { return g_real.pthread_create(thread, attributes, run, argument); },
      [](int result) { return result == 0; });
}

ATTUNE_HOOK int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  return TimedCall(
      SyncKind::kCreate, ATTUNE_SITE, [=] { return g_real.thrd_create(thread, run, argument); },
      [](int result) { return result == thrd_success; });
}

// Cancellation points: nothing is to be undone when a call is left. One that does not wait is a look, and no wait.
#define ATTUNE_CHILD_CALL(name, parameters, arguments, has_ended)                                                    \
  ATTUNE_HOOK auto name parameters->decltype(g_real.name arguments) {                                                \
    return TimedCall(                                                                                                \
        SyncKind::kChild, ATTUNE_SITE, [=] { return g_real.name arguments; }, [](auto result) { return has_ended; }, \
        Records::kLongCalls);                                                                                        \
  }

ATTUNE_CHILD_CALL(wait, (int* status), (status), result > 0)
ATTUNE_CHILD_CALL(waitpid, (pid_t pid, int* status, int options), (pid, status, options), result > 0)
ATTUNE_CHILD_CALL(wait3, (int* status, int options, rusage* usage), (status, options, usage), result > 0)
ATTUNE_CHILD_CALL(wait4, (pid_t pid, int* status, int options, rusage* usage), (pid, status, options, usage),
                  result > 0)
ATTUNE_CHILD_CALL(waitid, (idtype_t type, id_t id, siginfo_t* info, int options), (type, id, info, options),
                  result == 0)
// It waits by a system call of its own, as system() does.
ATTUNE_CHILD_CALL(pclose, (FILE * pipe), (pipe), result != -1)
#undef ATTUNE_CHILD_CALL

}  // namespace attune::probe::hook
