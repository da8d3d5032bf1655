// A POSIX spin lock is held for milliseconds of computing, and the other thread spins.
// planted: class=lock-contention|busy-wait function=sum_under_spin_lock

#include "planted.h"

static pthread_spinlock_t total_lock;

static void sum_under_spin_lock(void) {
  const long long before_ns = now_ns();
  pthread_spin_lock(&total_lock);  // <- cause
  lost_since(before_ns);
  COMPUTE_US(3000);
  pthread_spin_unlock(&total_lock);
}

static void* run_sums(void* nothing) {
  for (int i = 0; i < 150; ++i) {
    sum_under_spin_lock();
    COMPUTE_US(1000);
  }
  return nothing;
}

int main(void) {
  pthread_spin_init(&total_lock, PTHREAD_PROCESS_PRIVATE);
  run_threads(2, run_sums);
  return write_truth();
}
