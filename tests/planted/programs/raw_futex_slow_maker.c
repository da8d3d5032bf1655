// Two threads wait by the system call futex for parts that a third one makes too slowly.
// planted: class=condition-wait function=make_parts

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "planted.h"

enum { kParts = 250 };
static unsigned parts;

static void make_parts(void) {
  for (unsigned i = 1; i <= kParts; ++i) {
    COMPUTE_US(4000);
    __atomic_store_n(&parts, i, __ATOMIC_RELEASE);
    syscall(SYS_futex, &parts, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);  // <- cause
  }
}

static void await_part(unsigned seen) {
  const long long before_ns = now_ns();
  while (__atomic_load_n(&parts, __ATOMIC_ACQUIRE) == seen) {
    syscall(SYS_futex, &parts, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
  }
  lost_since(before_ns);
}

static void mount_parts(void) {
  for (unsigned seen = 0; seen < kParts; seen = __atomic_load_n(&parts, __ATOMIC_ACQUIRE)) {
    await_part(seen);
    COMPUTE_US(300);
  }
}

static void* run_thread(void* number) {
  if ((long)number == 0) {
    make_parts();
  } else {
    mount_parts();
  }
  return NULL;
}

int main(void) {
  run_threads(3, run_thread);
  return write_truth();
}
