// Threads read the same table all the time, and nobody writes.
// planted: class=none

#include "planted.h"

static volatile long table[1024];

static void* read_table(void* nothing) {
  long sum = 0;
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 20000; ++i) sum += table[i % 1024];
  }
  return sum == 0 ? nothing : (void*)1;
}

int main(void) {
  run_threads(2, read_table);
  return 0;
}
