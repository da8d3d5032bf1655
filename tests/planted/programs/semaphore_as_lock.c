// A semaphore of one guards a device that each thread keeps for long.
// planted: class=lock-contention|serialisation function=use_device

#include <semaphore.h>

#include "planted.h"

static sem_t device_free;

static void use_device(void) {
  const long long before_ns = now_ns();
  sem_wait(&device_free);  // <- cause
  lost_since(before_ns);
  rest_us(3000);
  sem_post(&device_free);  // <- cause
}

static void* run_user(void* nothing) {
  for (int i = 0; i < 120; ++i) {
    use_device();
    COMPUTE_US(300);
  }
  return nothing;
}

int main(void) {
  sem_init(&device_free, 0, 1);
  run_threads(3, run_user);
  return write_truth();
}
