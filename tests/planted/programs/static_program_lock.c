// A program that is linked statically, whose calls nothing can take the place of, computes under one lock.
// planted: class=lock-contention|serialisation function=update_state options=-static tolerance=5

#include "planted.h"

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

static void update_state(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&state_lock);  // <- cause
  lost_since(before_ns);
  COMPUTE_US(4000);  // <- cause
  pthread_mutex_unlock(&state_lock);
}

static void* run_thread(void* nothing) {
  for (int i = 0; i < 130; ++i) {
    update_state();
    COMPUTE_US(1000);
  }
  return nothing;
}

int main(void) {
  run_threads(2, run_thread);
  return write_truth();
}
