// Threads with equal work meet at a barrier now and then while another program takes one of two CPUs.
// planted: class=none beside="stress-ng --cpu 1"

#include "planted.h"

static pthread_barrier_t step_end;

static void* compute_half(void* nothing) {
  for (int step = 0; step < 4; ++step) {
    COMPUTE_US(200000);
    pthread_barrier_wait(&step_end);
  }
  return nothing;
}

int main(void) {
  pthread_barrier_init(&step_end, NULL, 2);
  run_threads(2, compute_half);
  return 0;
}
