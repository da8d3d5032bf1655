// A process sends its text through a pipe byte by byte, and the other one reads it so.
// planted: class=small-messages|small-io function=send_text|receive_text processes=2 tolerance=none

#include <sys/wait.h>

#include "planted.h"

enum { kBytes = 1500000 };

static void send_text(int output) {
  for (int i = 0; i < kBytes; ++i) {
    if (write(output, "abcdefgh" + i % 8, 1) != 1) exit(1);  // <- cause
  }
}

static long receive_text(int input) {
  long sum = 0;
  char letter = 0;
  while (read(input, &letter, 1) == 1) sum += letter;  // <- cause
  return sum;
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    send_text(ends[1]);
    _exit(0);
  }
  close(ends[1]);
  const long sum = receive_text(ends[0]);
  waitpid(child, NULL, 0);
  return write_truth() + (sum == 0);
}
