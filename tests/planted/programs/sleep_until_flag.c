// After each job the main thread looks every 5 ms whether its worker is done; the job takes one.
// planted: class=polling-delay function=wait_for_job options=-O0

#include "planted.h"

static int started, finished;

static void wait_for_job(int job) {
  while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < job) {
    const long long before_ns = now_ns();
    rest_us(5000);  // <- cause
    lost_since(before_ns);
  }
}

static void* run_worker(void* nothing) {
  for (int job = 1; job <= 200; ++job) {
    while (__atomic_load_n(&started, __ATOMIC_ACQUIRE) < job) {
      const long long before_ns = now_ns();
      usleep(100);
      lost_since(before_ns);
    }
    COMPUTE_US(1000);
    __atomic_store_n(&finished, job, __ATOMIC_RELEASE);
  }
  return nothing;
}

int main(void) {
  pthread_t worker;
  if (pthread_create(&worker, NULL, run_worker, NULL) != 0) return 1;
  for (int job = 1; job <= 200; ++job) {
    __atomic_store_n(&started, job, __ATOMIC_RELEASE);
    wait_for_job(job);
  }
  pthread_join(worker, NULL);
  return write_truth();
}
