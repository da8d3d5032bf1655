// Worker threads wait at a semaphore; a short burst of requests comes in the middle of the run.
// planted: class=none

#include <semaphore.h>

#include "planted.h"

static sem_t requests;
static int is_over;

static void* serve(void* nothing) {
  for (;;) {
    sem_wait(&requests);
    if (__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) return nothing;
    COMPUTE_US(1000);
  }
}

int main(void) {
  pthread_t threads[2];
  sem_init(&requests, 0, 0);
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, serve, NULL) != 0) return 1;
  }
  rest_us(600000);
  for (int i = 0; i < 10; ++i) sem_post(&requests);
  rest_us(600000);
  __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 2; ++i) sem_post(&requests);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
