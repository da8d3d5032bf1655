// The signal goes to another condition than the one waited for, so that each wait ends by its limit of 20 ms.
// planted: class=timeout-wait function=wait_for_work

#include <semaphore.h>

#include "planted.h"

enum { kPieces = 60 };
static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER, work_done = PTHREAD_COND_INITIALIZER;
static sem_t results;
static int pieces;

static void wait_for_work(void) {
  pthread_mutex_lock(&work_lock);
  while (pieces == 0) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += 20000000;
    limit.tv_sec += limit.tv_nsec / 1000000000;
    limit.tv_nsec %= 1000000000;
    const long long before_ns = now_ns();
    pthread_cond_timedwait(&work_ready, &work_lock, &limit);  // <- cause
    lost_since(before_ns);
  }
  --pieces;
  pthread_mutex_unlock(&work_lock);
}

static void* run_worker(void* nothing) {
  for (int i = 0; i < kPieces; ++i) {
    wait_for_work();
    COMPUTE_US(500);
    sem_post(&results);
  }
  return nothing;
}

static void give_work(void) {
  rest_us(1000);
  pthread_mutex_lock(&work_lock);
  ++pieces;
  pthread_cond_signal(&work_done);
  pthread_mutex_unlock(&work_lock);
  sem_wait(&results);
}

int main(void) {
  pthread_t worker;
  sem_init(&results, 0, 0);
  if (pthread_create(&worker, NULL, run_worker, NULL) != 0) return 1;
  for (int i = 0; i < kPieces; ++i) give_work();
  pthread_join(worker, NULL);
  return write_truth();
}
