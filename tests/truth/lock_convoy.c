// Five threads take a lock for a moment, and come back before the others had it. A mutex that inherits priority is
// handed over to who waits, so that nobody gets in between: all stand in one queue, and each has to be woken up first.

#include "truth.h"

static pthread_mutex_t mutex;
enum { kThreads = 5, kRounds = 10000, kHoldUs = 3, kBetweenUs = 5 };

static void update(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&mutex);  // the planted line
  lost_since(before_ns);
  work_us(kHoldUs);
  pthread_mutex_unlock(&mutex);
}

static void* run(void* nothing) {
  for (int i = 0; i < kRounds; ++i) {
    update();
    work_us(kBetweenUs);
  }
  return nothing;
}

int main(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  if (pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) != 0) return 1;
  pthread_mutex_init(&mutex, &attributes);
  run_threads(kThreads, run);
  return print_truth();
}
