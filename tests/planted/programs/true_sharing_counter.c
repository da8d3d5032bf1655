// Both threads add every event to one atomic counter.
// planted: class=true-sharing function=count_event tolerance=none options=-O0

#include "planted.h"

static _Alignas(64) long all_events;

static void count_event(void) {
  __atomic_fetch_add(&all_events, 1, __ATOMIC_SEQ_CST);  // <- cause
}

static void* run_thread(void* nothing) {
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 100000; ++i) count_event();
  }
  return nothing;
}

int main(void) {
  run_threads(2, run_thread);
  return write_truth();
}
