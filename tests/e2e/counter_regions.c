// Regions in one another round work of a known number of instructions, so many times: prints calls of the inner and of
// the outer one and the instructions of a call. Between the inner ones the thread does what it is told: nothing, sleep,
// yield to a rival, or read its counters.
#define _GNU_SOURCE
#include <attune/counters.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kOuter = 300, kInner = 3, kRounds = 10000 };

static atomic_int is_over;

static void Work(void) {
  unsigned long rounds = kRounds;
  __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

static void Pause(const char* how, attune_counters* counters) {
  double counts[ATTUNE_COUNTERS_MAX];
  if (strcmp(how, "sleep") == 0) usleep(100);
  if (strcmp(how, "yield") == 0) sched_yield();
  if (strcmp(how, "read") == 0) attune_counters_read(counters, counts);
}

static void* Compete(void* ignored) {
  while (!is_over) sched_yield();
  return ignored;
}

int main(int argc, char** argv) {
  const char* const how = argc > 1 ? argv[1] : "";
  attune_counters* const counters = attune_counters_open("instructions:u,cycles:u");
  if (counters == NULL) {
    fprintf(stderr, "%s\n", attune_counters_error());
    return 1;
  }
  pthread_t rival;
  if (strcmp(how, "yield") == 0) pthread_create(&rival, NULL, Compete, NULL);
  const int outer = attune_counters_region(counters, "outer"), inner = attune_counters_region(counters, "inner");
  for (int i = 0; i < kOuter; ++i) {
    attune_counters_begin(counters, outer);
    for (int j = 0; j < kInner; ++j) {
      attune_counters_begin(counters, inner);
      Work();
      attune_counters_end(counters);
      Pause(how, counters);
    }
    attune_counters_end(counters);
  }
  is_over = 1;
  attune_counted of_inner, of_outer;
  attune_counters_result(counters, inner, &of_inner);
  attune_counters_result(counters, outer, &of_outer);
  printf("inner=%llu,%.1f outer=%llu,%.1f\n", (unsigned long long)of_inner.calls,
         of_inner.counts[0] / (double)of_inner.calls, (unsigned long long)of_outer.calls,
         of_outer.counts[0] / (double)of_outer.calls);
  attune_counters_close(counters);
  return 0;
}
