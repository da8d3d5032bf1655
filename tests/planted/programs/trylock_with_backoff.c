// A thread tries a mutex again and again, with a pause of some hundred steps between, instead of locking it.
// planted: class=busy-wait function=lock_by_trying options=-O0

#include "planted.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_by_trying(void) {
  const long long before_ns = cpu_ns();
  int pauses = 16;
  // <- cause: begin
  while (pthread_mutex_trylock(&table_lock) != 0) {
    for (volatile int i = 0; i < pauses; i = i + 1) {
    }
    if (pauses < 1024) pauses *= 2;
  }
  // <- cause: end
  lost(cpu_ns() - before_ns);
}

static void* update_table(void* nothing) {
  for (int i = 0; i < 120; ++i) {
    lock_by_trying();
    COMPUTE_US(4000);
    pthread_mutex_unlock(&table_lock);
    COMPUTE_US(1500);
  }
  return nothing;
}

int main(void) {
  run_threads(2, update_table);
  return write_truth();
}
