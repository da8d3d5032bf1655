// One of four threads reads from a slow device in every step, and the others wait for it at the barrier.
// planted: class=load-imbalance function=meet

#include "planted.h"

static pthread_barrier_t step_end;

static void meet(void) {
  const long long before_ns = now_ns();
  pthread_barrier_wait(&step_end);  // <- cause
  lost_since(before_ns);
}

static void* run_steps(void* number) {
  for (int step = 0; step < 80; ++step) {
    rest_us((long)number == 2 ? 14000 : 4000);
    meet();
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&step_end, NULL, 4);
  run_threads(4, run_steps);
  return write_truth();
}
