// Two transfers lock two accounts in opposite orders and hang; a watchdog ends the program after a second.
// planted: class=deadlock function=transfer

#include "planted.h"

static pthread_mutex_t accounts[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both_have_one;
static long long blocked_since_ns[2];

static void transfer(long from) {
  pthread_mutex_lock(&accounts[from]);
  pthread_barrier_wait(&both_have_one);
  blocked_since_ns[from] = now_ns();
  pthread_mutex_lock(&accounts[1 - from]);  // <- cause
}

static void* run_transfer(void* from) {
  transfer((long)from);
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  pthread_barrier_init(&both_have_one, NULL, 2);
  for (long i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, run_transfer, (void*)i) != 0) return 1;
  }
  rest_us(1100000);
  for (int i = 0; i < 2; ++i) lost_since(blocked_since_ns[i]);
  write_truth();
  _exit(0);
}
