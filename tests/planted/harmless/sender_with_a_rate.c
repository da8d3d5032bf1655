// A sender keeps to 200 messages a second: it computes each for a moment, and sleeps until the next is due.
// planted: class=none

#include "planted.h"

int main(void) {
  long long due_ns = now_ns();
  for (int i = 0; i < 260; ++i) {
    COMPUTE_US(300);
    due_ns += 5000000;
    struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
    }
  }
  return 0;
}
