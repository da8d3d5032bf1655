// A parent keeps two children at work at a time, as make -j2 does, and starts the next when one has ended.
// planted: class=none

#include <sys/wait.h>

#include "planted.h"

int main(void) {
  int running = 0;
  for (int left = 10; left > 0 || running > 0;) {
    if (left > 0 && running < 2) {
      --left;
      ++running;
      if (fork() == 0) {
        COMPUTE_US(230000);
        _exit(0);
      }
      continue;
    }
    wait(NULL);
    --running;
  }
  return 0;
}
