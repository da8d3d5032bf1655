// A thread asks for a mutex that it has itself; somebody ends the program by SIGTERM while it hangs.
// planted: class=deadlock function=update_entry|update_table exit=-15 options=-O0

#include <signal.h>

#include "planted.h"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static long long since_ns;

static void update_entry(void) {
  since_ns = now_ns();
  pthread_mutex_lock(&table_lock);  // <- cause
}

static void update_table(void) {
  pthread_mutex_lock(&table_lock);
  update_entry();
}

static void* run_updates(void* nothing) {
  update_table();
  return nothing;
}

int main(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_updates, NULL) != 0) return 1;
  rest_us(1000000);
  lost_since(since_ns);
  write_truth();
  kill(getpid(), SIGTERM);
  pause();
  return 1;
}
