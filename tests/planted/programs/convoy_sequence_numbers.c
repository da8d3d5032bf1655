// Five threads fetch sequence numbers from a mutex with priority inheritance: every release is a handoff to a sleeper.
// planted: class=lock-convoy function=next_number

#include "planted.h"

static pthread_mutex_t number_lock;
static long number;

static long next_number(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&number_lock);  // <- cause
  lost_since(before_ns);
  const long result = ++number;
  COMPUTE_US(3);
  pthread_mutex_unlock(&number_lock);
  return result;
}

static void* run_client(void* nothing) {
  for (int i = 0; i < 12000; ++i) {
    next_number();
    COMPUTE_US(5);
  }
  return nothing;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) != 0) skip("no priority inheritance");
  pthread_mutex_init(&number_lock, &attributes);
  run_threads(5, run_client);
  return write_truth();
}
