// Two processes append to a ledger under lockf, and keep the lock while they wait for a slow device.
// planted: class=lock-contention function=append_entry processes=2

#include <sys/wait.h>

#include "planted.h"

static void append_entry(int ledger) {
  const long long before_ns = now_ns();
  if (lockf(ledger, F_LOCK, 0) != 0) exit(1);  // <- cause
  lost_since(before_ns);
  rest_us(5000);
  if (lockf(ledger, F_ULOCK, 0) != 0) exit(1);  // <- cause
}

static int serve_till(void) {
  char name[64];
  snprintf(name, sizeof name, "ledger.%d", getpgrp());
  const int ledger = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (ledger < 0) return 1;
  for (int i = 0; i < 115; ++i) {
    append_entry(ledger);
    COMPUTE_US(1000);
  }
  return write_truth();
}

int main(void) {
  const pid_t second = fork();
  const int result = serve_till();
  if (second == 0) _exit(result);
  waitpid(second, NULL, 0);
  return result;
}
