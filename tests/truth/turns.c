// Four threads compute, but only the one whose turn it is; it wakes the others when it is done.

#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;
static long turn;
enum { kThreads = 4, kRounds = 80, kWorkUs = 3000 };

static void* run(void* number) {
  for (int round = 0; round < kRounds; ++round) {
    pthread_mutex_lock(&mutex);
    while (turn % kThreads != (long)number) {
      const long long before_ns = now_ns();
      pthread_cond_wait(&next, &mutex);
      lost_since(before_ns);
    }
    pthread_mutex_unlock(&mutex);
    work_us(kWorkUs);
    pthread_mutex_lock(&mutex);
    ++turn;
    pthread_cond_broadcast(&next);  // the planted line
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

int main(void) {
  run_threads(kThreads, run);
  return print_truth();
}
