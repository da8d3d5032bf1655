// A parent starts one child that computes, and waits for it, as a shell does.
// planted: class=none

#include <sys/wait.h>

#include "planted.h"

int main(void) {
  if (fork() == 0) {
    COMPUTE_US(1200000);
    _exit(0);
  }
  wait(NULL);
  return 0;
}
