// A logger waits for its device with the lock of the message buffer in hand; three threads only want to add a line.
// planted: class=lock-contention function=flush_messages options=-O0

#include "planted.h"

static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
static int messages, is_done;

static void flush_messages(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&buffer_lock);  // <- cause
  lost_since(before_ns);
  rest_us(6000);
  messages = 0;
  pthread_mutex_unlock(&buffer_lock);
}

static void add_message(void) {
  const long long before_ns = now_ns();
  pthread_mutex_lock(&buffer_lock);
  lost_since(before_ns);
  ++messages;
  pthread_mutex_unlock(&buffer_lock);
}

static void* run_logger(void* nothing) {
  while (!__atomic_load_n(&is_done, __ATOMIC_ACQUIRE)) {
    flush_messages();
    rest_us(2000);
  }
  return nothing;
}

static void* run_request(void* nothing) {
  for (int i = 0; i < 150; ++i) {
    add_message();
    rest_us(1000);
  }
  return nothing;
}

int main(void) {
  pthread_t logger;
  if (pthread_create(&logger, NULL, run_logger, NULL) != 0) return 1;
  run_threads(3, run_request);
  __atomic_store_n(&is_done, 1, __ATOMIC_RELEASE);
  pthread_join(logger, NULL);
  return write_truth();
}
