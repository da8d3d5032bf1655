// In each step another one of four threads is late, so that all wait though each has as much to do in the end.
// planted: class=wait-at-barrier function=run_steps

#include "planted.h"

static pthread_barrier_t step_end;

static void* run_steps(void* number) {
  for (int step = 0; step < 120; ++step) {
    rest_us((step * 7 + step / 4) % 4 == (long)number ? 9000 : 2000);
    const long long before_ns = now_ns();
    pthread_barrier_wait(&step_end);  // <- cause
    lost_since(before_ns);
  }
  return NULL;
}

int main(void) {
  pthread_barrier_init(&step_end, NULL, 4);
  run_threads(4, run_steps);
  return write_truth();
}
