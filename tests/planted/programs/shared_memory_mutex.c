// Two processes share a mutex in shared memory; one of them holds it through a slow update.
// planted: class=lock-contention function=slow_update processes=2

#include <sys/mman.h>
#include <sys/wait.h>

#include "planted.h"

static struct shared {
  pthread_mutex_t lock;
  int is_done;
}* shared;

static void slow_update(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&shared->lock);  // <- cause
  lost_since(before_ns);
  rest_us(7000);
  pthread_mutex_unlock(&shared->lock);
}

static void quick_look(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&shared->lock);
  lost_since(before_ns);
  pthread_mutex_unlock(&shared->lock);
}

static void run_reader(void) {
  for (int i = 0; i < 150; ++i) {
    quick_look();
    COMPUTE_US(800);
  }
  __atomic_store_n(&shared->is_done, 1, __ATOMIC_RELEASE);
}

static void run_writer(void) {
  while (!__atomic_load_n(&shared->is_done, __ATOMIC_ACQUIRE)) {
    slow_update();
    rest_us(1000);
  }
}

int main(void) {
  pthread_mutexattr_t attributes;
  shared = (struct shared*)mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->lock, &attributes);
  const pid_t reader = fork();
  if (reader == 0) {
    run_reader();
    return write_truth();
  }
  run_writer();
  waitpid(reader, NULL, 0);
  return write_truth();
}
