// Four threads, each of which has a lock for 5 ms at a time: the same one, or one of its own. What the program is
// shorter with locks of their own is what the one lock costs it.
// Usage: one_lock shared|own

#include "truth.h"

enum { kThreads = 4, kRounds = 50 };
static pthread_mutex_t locks[kThreads];
static int is_shared;

static void* run(void* number) {
  pthread_mutex_t* lock = &locks[is_shared ? 0 : (long)number];
  for (int i = 0; i < kRounds; ++i) {
    pthread_mutex_lock(lock);
    rest_us(5000);
    pthread_mutex_unlock(lock);
  }
  return NULL;
}

int main(int argc, char** argv) {
  is_shared = argc > 1 && strcmp(argv[1], "shared") == 0;
  for (int i = 0; i < kThreads; ++i) pthread_mutex_init(&locks[i], NULL);
  const long long before_ns = now_ns();
  run_threads(kThreads, run);
  printf("took_ns %lld\n", now_ns() - before_ns);
  return 0;
}
