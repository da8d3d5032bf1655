// Processes update one file under flock, and keep the lock while they compute what to write.
// planted: class=lock-contention function=update_file processes=3

#include <sys/file.h>
#include <sys/wait.h>

#include "planted.h"

static char name[] = "/tmp/planted-lock-XXXXXX";

static void update_file(int file) {
  const long long before_ns = now_ns();
  flock(file, LOCK_EX);  // <- cause
  lost_since(before_ns);
  COMPUTE_US(5000);
  flock(file, LOCK_UN);
}

static int run_process(void) {
  const int file = open(name, O_RDWR | O_CLOEXEC);
  for (int i = 0; i < 100; ++i) {
    update_file(file);
    COMPUTE_US(1500);
  }
  return write_truth();
}

int main(void) {
  const int file = mkstemp(name);
  if (file < 0) return 1;
  for (int i = 0; i < 2; ++i) {
    if (fork() == 0) _exit(run_process());
  }
  while (wait(NULL) > 0) {
  }
  unlink(name);
  return 0;
}
