#pragma once
// What the programs with a planted problem share. Each measures itself what its threads lose, around its own calls, and
// prints it: "lost_ns 1234". The line that a finding shall name ends with the comment: the planted line

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_llong lost_ns;

static inline long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/// CPU time of this thread.
static inline long long cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/// Adds the time since `before_ns`.
static inline void lost_since(long long before_ns) { atomic_fetch_add(&lost_ns, now_ns() - before_ns); }

/// Work that needs no CPU: what else runs on the machine does not change it much.
static inline void rest_us(long us) {
  struct timespec pause = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

/// Work that needs a CPU for so long.
static inline void work_us(long us) {
  struct timespec begin, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000L + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

/// Runs the function in so many threads, with their numbers from 0, and waits for them.
static inline void run_threads(int count, void* (*function)(void*)) {
  pthread_t threads[64];
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, function, (void*)i) != 0) exit(1);
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

static inline int print_truth(void) {
  printf("lost_ns %lld\n", (long long)atomic_load(&lost_ns));
  return 0;
}
