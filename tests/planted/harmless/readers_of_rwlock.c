// Threads take a read-write lock for reading all the time, which lets all of them in.
// planted: class=none

#include "planted.h"

static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static void* read_often(void* nothing) {
  for (int i = 0; i < 240; ++i) {
    pthread_rwlock_rdlock(&table_lock);
    COMPUTE_US(5000);
    pthread_rwlock_unlock(&table_lock);
  }
  return nothing;
}

int main(void) {
  run_threads(2, read_often);
  return 0;
}
