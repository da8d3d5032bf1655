// A process reads a pipe that does not block in a loop until its child has computed the next answer.
// planted: class=busy-wait function=read_answer processes=2

#include <sys/wait.h>

#include "planted.h"

static int read_answer(int pipe) {
  int answer = 0;
  const long long before_ns = cpu_ns();
  while (read(pipe, &answer, sizeof answer) != sizeof answer) {  // <- cause
  }  // <- cause
  lost(cpu_ns() - before_ns);
  return answer;
}

static void compute_answers(int pipe) {
  for (int i = 1; i <= 100; ++i) {
    COMPUTE_US(10000);
    if (write(pipe, &i, sizeof i) != sizeof i) exit(1);
  }
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    compute_answers(ends[1]);
    _exit(0);
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  while (read_answer(ends[0]) != 100) {
  }
  waitpid(child, NULL, 0);
  return write_truth();
}
