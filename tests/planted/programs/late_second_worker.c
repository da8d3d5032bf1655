// The second worker is started after the configuration has been read, though it needs none of it.
// planted: class=late-start function=start_workers|read_configuration

#include "planted.h"

enum { kRows = 160 };
static int next_row;

static void* run_worker(void* nothing) {
  while (__atomic_fetch_add(&next_row, 1, __ATOMIC_RELAXED) < kRows) COMPUTE_US(10000);
  return nothing;
}

static void read_configuration(void) {
  rest_us(700000);  // <- cause
}

static void start_workers(pthread_t* workers) {
  if (pthread_create(&workers[0], NULL, run_worker, NULL) != 0) exit(1);
  const long long before_ns = now_ns();
  read_configuration();  // <- cause
  lost_since(before_ns);
  if (pthread_create(&workers[1], NULL, run_worker, NULL) != 0) exit(1);  // <- cause
}

int main(void) {
  pthread_t workers[2];
  start_workers(workers);
  for (int i = 0; i < 2; ++i) pthread_join(workers[i], NULL);
  return write_truth();
}
