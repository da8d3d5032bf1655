// After each job the main thread looks every 5 ms whether its worker is done; the job takes one.
// planted: class=polling-delay function=wait_for_job options=-O0

#include <semaphore.h>

#include "planted.h"

enum { kJobs = 200 };
static sem_t jobs;
static int finished;

static void wait_for_job(int job) {
  while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < job) {
    const long long before_ns = now_ns();
    usleep(5000);  // <- cause
    lost_since(before_ns);
  }
}

static void* run_worker(void* nothing) {
  for (int job = 1; job <= kJobs; ++job) {
    sem_wait(&jobs);
    COMPUTE_US(1000);
    __atomic_store_n(&finished, job, __ATOMIC_RELEASE);
  }
  return nothing;
}

int main(void) {
  pthread_t worker;
  sem_init(&jobs, 0, 0);
  if (pthread_create(&worker, NULL, run_worker, NULL) != 0) return 1;
  for (int job = 1; job <= kJobs; ++job) {
    sem_post(&jobs);
    wait_for_job(job);
  }
  pthread_join(worker, NULL);
  return write_truth();
}
