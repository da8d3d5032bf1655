// Two threads compute on halves of a grid of which one has three times as many cells.
// planted: class=load-imbalance function=relax options=-O0

#include "planted.h"

static pthread_barrier_t step_end;

static void relax_cells(int cells) { COMPUTE_US(cells * 1000); }

static void relax(long half) {
  relax_cells(half == 0 ? 12 : 4);
  const long long before_ns = now_ns();
  pthread_barrier_wait(&step_end);  // <- cause
  lost_since(before_ns);
}

static void* run_half(void* half) {
  for (int step = 0; step < 100; ++step) relax((long)half);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&step_end, NULL, 2);
  run_threads(2, run_half);
  return write_truth();
}
