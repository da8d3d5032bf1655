// Threads that count, each for itself.
// Usage: cache_line shared|own|one|read
// `shared`: the counters of all threads lie beside each other, in one cache line. `own`: each has a line of its own.
// `one`: all count with one counter, as they have to. `read`: all read the same line, and nobody writes.

#include "truth.h"

enum { kThreads = 2, kRounds = 20000, kSteps = 100000, kLine = 64, kMostNs = 800000000 };

struct counter {
  volatile long value;
};
static _Alignas(kLine) struct counter shared[kLine / sizeof(struct counter)];
static struct {
  _Alignas(kLine) struct counter counter;
} own[kThreads];
static _Alignas(kLine) atomic_long one;
static _Alignas(kLine) volatile long table[kLine / sizeof(long)];
static const char* kind;

static int is(const char* name) { return strcmp(kind, name) == 0; }

static void count(struct counter* mine) {
  for (long i = 0; i < kSteps; ++i) {
    mine->value++;  // the planted line
  }
}

static void count_together(void) {
  for (long i = 0; i < kSteps; ++i) atomic_fetch_add(&one, 1);
}

static long read_all(void) {
  long sum = 0;
  for (long i = 0; i < kSteps; ++i) sum += table[i % (kLine / (long)sizeof(long))];
  return sum;
}

static void* run(void* number) {
  const long mine = (long)number;
  const long long before_ns = cpu_ns();
  long sum = 0;
  for (int round = 0; round < kRounds && cpu_ns() - before_ns < kMostNs; ++round) {
    if (is("shared")) count(&shared[mine]);
    if (is("own")) count(&own[mine].counter);
    if (is("one")) count_together();
    if (is("read")) sum += read_all();
  }
  atomic_fetch_add(&lost_ns, cpu_ns() - before_ns);
  return (void*)sum;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  kind = argv[1];
  run_threads(kThreads, run);
  return print_truth();
}
