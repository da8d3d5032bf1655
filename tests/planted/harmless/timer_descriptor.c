// A loop reads a timer descriptor 20 times a second, and does a little each time.
// planted: class=none options=-O0

#include <stdint.h>
#include <sys/timerfd.h>

#include "planted.h"

int main(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const struct itimerspec interval = {{0, 50000000}, {0, 50000000}};
  timerfd_settime(timer, 0, &interval, NULL);
  for (int i = 0; i < 25; ++i) {
    uint64_t times = 0;
    if (read(timer, &times, sizeof times) != sizeof times) return 1;
    COMPUTE_US(500);
  }
  return 0;
}
