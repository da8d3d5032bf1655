// As many processes as CPUs compute the same amount; their parent waits for all of them.
// planted: class=none

#include <sys/wait.h>

#include "planted.h"

int main(void) {
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  for (int i = 0; i < CPU_COUNT(&cpus); ++i) {
    if (fork() == 0) {
      COMPUTE_US(1200000);
      _exit(0);
    }
  }
  while (wait(NULL) > 0) {
  }
  return 0;
}
