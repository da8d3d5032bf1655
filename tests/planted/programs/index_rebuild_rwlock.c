// A writer rebuilds an index under the write lock for long; readers look up something between.
// planted: class=lock-contention function=rebuild_index

#include "planted.h"

static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER;
static int is_done;

static void rebuild_index(void) {
  const long long before_ns = now_ns();
  pthread_rwlock_wrlock(&index_lock);  // <- cause
  lost_since(before_ns);
  COMPUTE_US(8000);
  pthread_rwlock_unlock(&index_lock);
}

static void look_up(void) {
  const long long before_ns = now_ns();
  pthread_rwlock_rdlock(&index_lock);
  lost_since(before_ns);
  COMPUTE_US(20);
  pthread_rwlock_unlock(&index_lock);
}

static void* run_reader(void* nothing) {
  for (int i = 0; i < 700; ++i) {
    look_up();
    rest_us(500);
  }
  return nothing;
}

static void* run_writer(void* nothing) {
  while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) {
    rebuild_index();
    rest_us(4000);
  }
  return nothing;
}

int main(void) {
  pthread_t writer;
  if (pthread_create(&writer, NULL, run_writer, NULL) != 0) return 1;
  run_threads(3, run_reader);
  __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
  pthread_join(writer, NULL);
  return write_truth();
}
