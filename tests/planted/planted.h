#pragma once
// Clocks, work and the figure of the time lost, for the planted programs of C and C++. A program writes the time that
// it lost, as it measured it itself, to the file that PLANTED_TRUTH names: one line a process, which the runner adds
// up.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long long planted_lost_ns;

static inline long long clock_now_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static inline long long now_ns(void) { return clock_now_ns(CLOCK_MONOTONIC); }

/// CPU time of the calling thread.
static inline long long cpu_ns(void) { return clock_now_ns(CLOCK_THREAD_CPUTIME_ID); }

/// Time that the calling thread waited for a CPU, as the kernel counts it.
static inline long long queued_ns(void) {
  char text[128] = "";
  long long run = 0, queued = 0;
  const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  return size > 0 && sscanf(text, "%lld %lld", &run, &queued) == 2 ? queued : 0;
}

static inline void lost(long long ns) { __atomic_fetch_add(&planted_lost_ns, ns, __ATOMIC_RELAXED); }
static inline void lost_since(long long before_ns) { lost(now_ns() - before_ns); }

/// Work of a device: needs no CPU, takes so long.
static inline void rest_us(long us) {
  struct timespec pause = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {
  }
}

/// Computing for so much CPU time. A macro, so that the work has the place of the line that asks for it; the clock is a
/// system call, read every 20 us or so, in short work every microsecond.
#define COMPUTE_US(us)                                                                                           \
  do {                                                                                                           \
    for (const long long planted_end_ns = cpu_ns() + (us) * 1000LL; cpu_ns() < planted_end_ns;)                  \
      for (int planted_left = (us) > 200 ? 50000 : 1500; planted_left > 0; --planted_left) __asm__ volatile(""); \
  } while (0)

/// Runs the function in so many threads, with their numbers from 0, and waits for them.
static inline void run_threads(int count, void* (*function)(void*)) {
  pthread_t threads[64];
  for (long i = 0; i < count; ++i) {
    if (pthread_create(&threads[i], NULL, function, (void*)i) != 0) exit(1);
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}

/// Writes what this process has lost, and starts again at 0. @return 0, for main()
static inline int write_truth(void) {
  char text[64];
  const char* name = getenv("PLANTED_TRUTH");
  const int size =
      snprintf(text, sizeof text, "lost_ns %lld\n", __atomic_exchange_n(&planted_lost_ns, 0, __ATOMIC_RELAXED));
  const int file = name == NULL ? STDOUT_FILENO : open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0 || write(file, text, (size_t)size) != size) exit(1);
  if (file != STDOUT_FILENO) close(file);
  return 0;
}

/// Ends the program where the machine does not permit what is to be planted; the runner names the reason.
static inline void skip(const char* reason) {
  fprintf(stderr, "skipped: %s\n", reason);
  exit(77);
}
