// A logger wakes up every 100 ms and writes what there is; two threads compute and log now and then.
// planted: class=none

#include "planted.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int lines, is_over;

static void* run_logger(void* output) {
  while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
    usleep(100000);
    pthread_mutex_lock(&log_lock);
    const int count = lines;
    lines = 0;
    pthread_mutex_unlock(&log_lock);
    fprintf((FILE*)output, "%d lines\n", count);
  }
  return NULL;
}

static void* compute_and_log(void* nothing) {
  for (int i = 0; i < 60; ++i) {
    COMPUTE_US(20000);
    pthread_mutex_lock(&log_lock);
    ++lines;
    pthread_mutex_unlock(&log_lock);
  }
  return nothing;
}

int main(void) {
  pthread_t logger;
  FILE* output = fopen("/dev/null", "w");
  if (output == NULL || pthread_create(&logger, NULL, run_logger, output) != 0) return 1;
  run_threads(2, compute_and_log);
  __atomic_store_n(&is_over, 1, __ATOMIC_RELEASE);
  pthread_join(logger, NULL);
  return 0;
}
