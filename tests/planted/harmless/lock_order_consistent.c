// Two threads take two locks, always in the same order, and rarely.
// planted: class=none

#include "planted.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

static void* update_both(void* nothing) {
  for (int i = 0; i < 120; ++i) {
    COMPUTE_US(10000);
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
  }
  return nothing;
}

int main(void) {
  run_threads(2, update_both);
  return 0;
}
