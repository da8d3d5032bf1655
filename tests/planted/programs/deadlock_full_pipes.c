// Parent and child write more to each other than their pipes hold before they read, and both block; a signal ends them.
// planted: class=deadlock function=exchange processes=2

#include <signal.h>
#include <sys/wait.h>

#include "planted.h"

enum { kBytes = 1 << 20 };
static char data[kBytes];
static long long since_ns;

static void end_by_signal(int number) {
  (void)number;
  lost_since(since_ns);
  write_truth();
  _exit(0);
}

static void exchange(int output, int input) {
  since_ns = now_ns();
  if (write(output, data, kBytes) != kBytes) exit(1);  // <- cause
  if (read(input, data, kBytes) < 0) exit(1);
}

int main(void) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return 1;
  signal(SIGALRM, end_by_signal);
  const pid_t child = fork();
  alarm(1);
  if (child == 0) {
    exchange(back[1], there[0]);
    return 1;
  }
  exchange(there[1], back[0]);
  return 1;
}
