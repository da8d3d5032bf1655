// Two threads meet at one mutex: one holds it for so many milliseconds at a time, the other one waits for it as long.
// Prints the rounds, and to stderr how long the other one waited, in nanoseconds, as it measured itself.
// Usage: contention ROUNDS MILLISECONDS

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int rounds, milliseconds;
static long long waited_ns;

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void hold(void) {
  const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
  pthread_mutex_lock(&mutex);  // who has it meanwhile
  pthread_barrier_wait(&barrier);
  nanosleep(&pause, NULL);
  pthread_mutex_unlock(&mutex);
}

static void wait_for_it(void) {
  pthread_barrier_wait(&barrier);
  const long long before_ns = now_ns();
  pthread_mutex_lock(&mutex);  // the line that the report shall name
  waited_ns += now_ns() - before_ns;
  pthread_mutex_unlock(&mutex);
}

static void* other(void* nothing) {
  for (int i = 0; i < rounds; ++i) {
    wait_for_it();
    pthread_barrier_wait(&barrier);
  }
  return nothing;
}

int main(int argc, char** argv) {
  rounds = argc > 1 ? atoi(argv[1]) : 5;
  milliseconds = argc > 2 ? atoi(argv[2]) : 50;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t thread;
  if (pthread_create(&thread, NULL, other, NULL) != 0) return 1;
  for (int i = 0; i < rounds; ++i) {
    hold();
    pthread_barrier_wait(&barrier);
  }
  pthread_join(thread, NULL);
  printf("%d rounds\n", rounds);
  if (argc > 3) fprintf(stderr, "%lld\n", waited_ns);
  return 0;
}
