// Two threads pin themselves to the same CPU, by a number that was counted from the wrong end.
// planted: class=narrow-affinity

#include "planted.h"

static int first_cpu(void) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) skip("one CPU");
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) return cpu;
  }
  return 0;
}

static void pin_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) != 0) exit(1);
}

static void* compute_pinned(void* cpu) {
  pin_to((int)(long)cpu);
  COMPUTE_US(700000);
  lost(queued_ns());
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  const long cpu = first_cpu();
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, compute_pinned, (void*)cpu) != 0) return 1;
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return write_truth();
}
