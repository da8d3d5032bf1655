// A loop of known length in a region of the library, the same on each of two CPUs in turn. Prints the region's
// instructions.
#define _GNU_SOURCE
#include <attune/counters.h>
#include <sched.h>
#include <stdio.h>

enum { kTurns = 20 };

static void LoopOn(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_setaffinity(0, sizeof only, &only) != 0) perror("sched_setaffinity");
  unsigned long rounds = 10000000;
#if defined(__aarch64__)
  __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#endif
}

int main(void) {
  attune_counters* const counters = attune_counters_open("instructions:u");
  if (counters == NULL) {
    fprintf(stderr, "%s\n", attune_counters_error());
    return 1;
  }
  const int region = attune_counters_region(counters, "loops");
  for (int turn = 0; turn < kTurns; ++turn) {
    attune_counters_begin(counters, region);
    LoopOn(turn % 2);
    attune_counters_end(counters);
  }
  attune_counted counted;
  attune_counters_result(counters, region, &counted);
  printf("counted=%.0f\n", counted.counts[0]);
  attune_counters_close(counters);
  return 0;
}
