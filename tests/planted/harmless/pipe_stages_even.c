// Two processes compute as long for a block each, and pass it on through a pipe with room for sixteen.
// planted: class=none

#include <sys/wait.h>

#include "planted.h"

static char block[4096];

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  if (fork() == 0) {
    close(ends[1]);
    while (read(ends[0], block, sizeof block) == sizeof block) COMPUTE_US(4000);
    _exit(0);
  }
  close(ends[0]);
  for (int i = 0; i < 300; ++i) {
    COMPUTE_US(4000);
    if (write(ends[1], block, sizeof block) != sizeof block) return 1;
  }
  close(ends[1]);
  wait(NULL);
  return 0;
}
