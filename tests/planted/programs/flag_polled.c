// The main thread reads a flag in a loop until its worker has set it; four nested calls lead there.
// planted: class=busy-wait function=is_finished|await_finish

#include "planted.h"

static volatile int finished;

static int is_finished(int job) { return finished >= job; }  // <- cause

static void await_finish(int job) {
  const long long before_ns = cpu_ns();
  while (!is_finished(job)) {  // <- cause
  }  // <- cause
  lost(cpu_ns() - before_ns);
}

static void run_one(int job) { await_finish(job); }

static void run_jobs(int jobs) {
  for (int job = 1; job <= jobs; ++job) {
    run_one(job);
    COMPUTE_US(500);
  }
}

static void* run_worker(void* nothing) {
  for (int job = 1; job <= 40; ++job) {
    COMPUTE_US(25000);
    finished = job;
  }
  return nothing;
}

int main(void) {
  pthread_t worker;
  if (pthread_create(&worker, NULL, run_worker, NULL) != 0) return 1;
  run_jobs(40);
  pthread_join(worker, NULL);
  return write_truth();
}
