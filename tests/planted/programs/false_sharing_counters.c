// Each thread counts in an element of its own of an array whose elements share a cache line.
// planted: class=false-sharing function=count_events tolerance=none

#include "planted.h"

static _Alignas(64) volatile long events[8];

static void count_events(long thread) {
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 100000; ++i) events[thread]++;  // <- cause
  }
}

static void* run_thread(void* number) {
  count_events((long)number);
  return NULL;
}

int main(void) {
  run_threads(2, run_thread);
  return write_truth();
}
