// Six threads take a lock for a fifth of a millisecond at a time, and come back before the others had it: all stand in
// one queue.

#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
enum { kThreads = 6, kRounds = 400 };

static void update(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&mutex);  // the planted line
  lost_since(before_ns);
  rest_us(100);
  pthread_mutex_unlock(&mutex);
}

static void* run(void* nothing) {
  for (int i = 0; i < kRounds; ++i) {
    update();
    rest_us(50);
  }
  return nothing;
}

int main(void) {
  run_threads(kThreads, run);
  return print_truth();
}
