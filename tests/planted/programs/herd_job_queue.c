// Each job wakes all eight workers by a broadcast; one gets it, the others find an empty queue.
// planted: class=thundering-herd function=add_job tolerance=none

#include "planted.h"

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static int jobs, is_closed;

static void add_job(void) {
  pthread_mutex_lock(&queue_lock);
  ++jobs;
  pthread_cond_broadcast(&queue_changed);  // <- cause
  pthread_mutex_unlock(&queue_lock);
}

static int take_job(void) {
  pthread_mutex_lock(&queue_lock);
  while (jobs == 0 && !is_closed) pthread_cond_wait(&queue_changed, &queue_lock);
  const int has_job = jobs > 0;
  if (has_job) --jobs;
  pthread_mutex_unlock(&queue_lock);
  return has_job;
}

static void* run_worker(void* nothing) {
  while (take_job()) COMPUTE_US(10);
  return nothing;
}

static void* run_all(void* number) {
  if ((long)number > 0) return run_worker(NULL);
  for (int i = 0; i < 10000; ++i) {
    add_job();
    COMPUTE_US(100);
  }
  pthread_mutex_lock(&queue_lock);
  is_closed = 1;
  pthread_cond_broadcast(&queue_changed);
  pthread_mutex_unlock(&queue_lock);
  return NULL;
}

int main(void) {
  run_threads(9, run_all);
  return write_truth();
}
