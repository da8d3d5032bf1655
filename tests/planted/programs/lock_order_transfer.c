// Two threads lock two accounts in opposite orders, at different times, so that nothing happens in this run.
// planted: class=lock-order-cycle function=transfer_back

#include "planted.h"

static pthread_mutex_t savings = PTHREAD_MUTEX_INITIALIZER, checking = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t turn_end;

static void transfer(void) {
  pthread_mutex_lock(&savings);
  pthread_mutex_lock(&checking);
  pthread_mutex_unlock(&checking);
  pthread_mutex_unlock(&savings);
}

static void transfer_back(void) {
  pthread_mutex_lock(&checking);
  pthread_mutex_lock(&savings);  // <- cause
  pthread_mutex_unlock(&savings);
  pthread_mutex_unlock(&checking);
}

static void* run_transfers(void* number) {
  for (int i = 0; i < 100 && (long)number == 0; ++i) transfer();
  pthread_barrier_wait(&turn_end);
  for (int i = 0; i < 100 && (long)number == 1; ++i) transfer_back();
  COMPUTE_US(500000);
  return NULL;
}

int main(void) {
  pthread_barrier_init(&turn_end, NULL, 2);
  run_threads(2, run_transfers);
  return write_truth();
}
