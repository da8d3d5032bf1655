// Two threads compute equal halves between barriers that come every 10 ms.
// planted: class=none options=-O0

#include "planted.h"

static pthread_barrier_t step_end;

static void* compute_half(void* nothing) {
  for (int step = 0; step < 120; ++step) {
    COMPUTE_US(10000);
    pthread_barrier_wait(&step_end);
  }
  return nothing;
}

int main(void) {
  pthread_barrier_init(&step_end, NULL, 2);
  run_threads(2, compute_half);
  return 0;
}
