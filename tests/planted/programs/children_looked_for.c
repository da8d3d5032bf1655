// A supervisor looks every 10 ms whether the job that it started has ended, and then starts the next one.
// planted: class=polling-delay function=supervise

#include <sys/wait.h>

#include "planted.h"

static void do_job(void) {
  COMPUTE_US(3000);
  _exit(0);
}

static int supervise(pid_t job) {
  int status = 0;
  while (waitpid(job, &status, WNOHANG) == 0) {
    const long long before_ns = now_ns();
    usleep(10000);  // <- cause
    lost_since(before_ns);
  }
  return status;
}

int main(void) {
  for (int i = 0; i < 100; ++i) {
    const pid_t job = fork();
    if (job == 0) do_job();
    if (job < 0 || supervise(job) != 0) return 1;
  }
  return write_truth();
}
