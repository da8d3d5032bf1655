// Memory that one thread touches first, on its node, and that a thread of another node uses.
// Usage: first_touch CPU-OF-THE-FIRST CPU-OF-THE-USER
// Needs two NUMA nodes; with two CPUs of one node nothing is lost.

#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "truth.h"

enum { kPage = 4096 };
static const long kBytes = 64L << 20;
static const long long kMostNs = 3000000000LL;
static volatile long* data;
static int user_cpu;

static void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) exit(1);
}

/// In the thread's own code: on an emulated machine interrupts take their part.
static long long user_ns(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) != 0) exit(1);
  return usage.ru_utime.tv_sec * 1000000000LL + usage.ru_utime.tv_usec * 1000LL;
}

static void touch(void) {
  for (long i = 0; i < kBytes / (long)sizeof(long); i += kPage / (long)sizeof(long)) {
    data[i] = i;  // the planted line
  }
}

static void* use(void* nothing) {
  (void)nothing;
  pin(user_cpu);
  const long long before_ns = user_ns();
  long sum = 0;
  while (user_ns() - before_ns < kMostNs) {
    for (long i = 0; i < kBytes / (long)sizeof(long); ++i) sum += data[i];
  }
  atomic_fetch_add(&lost_ns, user_ns() - before_ns);
  return (void*)sum;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  user_cpu = atoi(argv[2]);
  pin(atoi(argv[1]));
  data = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return 1;
  touch();
  run_threads(1, use);
  return print_truth();
}
