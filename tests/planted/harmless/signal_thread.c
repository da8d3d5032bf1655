// A thread waits for signals by sigwait, of which the only one comes at the end; two others compute.
// planted: class=none

#include <signal.h>

#include "planted.h"

static void* await_signal(void* set) {
  int number = 0;
  sigwait((const sigset_t*)set, &number);
  return NULL;
}

static void* compute(void* nothing) {
  COMPUTE_US(1100000);
  return nothing;
}

int main(void) {
  pthread_t waiter;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (pthread_create(&waiter, NULL, await_signal, &set) != 0) return 1;
  run_threads(2, compute);
  pthread_kill(waiter, SIGUSR1);
  pthread_join(waiter, NULL);
  return 0;
}
