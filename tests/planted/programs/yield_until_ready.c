// A consumer calls sched_yield until the producer has the next value.
// planted: class=busy-wait function=wait_for_value

#include "planted.h"

enum { kValues = 250 };
static int produced, consumed;

static void wait_for_value(int value) {
  const long long before_ns = cpu_ns();
  while (__atomic_load_n(&produced, __ATOMIC_ACQUIRE) < value) {  // <- cause
    sched_yield();                                                // <- cause
  }
  lost(cpu_ns() - before_ns);
}

static void consume_values(void) {
  for (int i = 1; i <= kValues; ++i) {
    wait_for_value(i);
    COMPUTE_US(300);
    consumed = i;
  }
}

static void produce_values(void) {
  for (int i = 1; i <= kValues; ++i) {
    COMPUTE_US(4000);
    __atomic_store_n(&produced, i, __ATOMIC_RELEASE);
  }
}

static void* run_thread(void* number) {
  if ((long)number == 0) {
    consume_values();
  } else {
    produce_values();
  }
  return NULL;
}

int main(void) {
  run_threads(2, run_thread);
  return write_truth();
}
