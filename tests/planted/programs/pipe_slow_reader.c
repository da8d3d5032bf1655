// A child compresses what comes through a pipe more slowly than its parent makes it, which blocks in write.
// planted: class=slow-peer function=compress_input|send_block processes=2

#include <sys/wait.h>

#include "planted.h"

enum { kBlock = 32768, kBlocks = 200 };
static char block[kBlock];

static void compress_input(int input) {
  long got = 0;
  for (;;) {
    const ssize_t size = read(input, block, kBlock);  // <- cause
    if (size <= 0) break;
    got += size;
    COMPUTE_US(size / 6);
  }
  if (got == 0) exit(1);
}

static void send_block(int output) {
  const long long before_ns = now_ns();
  if (write(output, block, kBlock) != kBlock) exit(1);  // <- cause
  lost_since(before_ns);
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    compress_input(ends[0]);
    _exit(0);
  }
  close(ends[0]);
  for (int i = 0; i < kBlocks; ++i) {
    COMPUTE_US(200);
    send_block(ends[1]);
  }
  close(ends[1]);
  waitpid(child, NULL, 0);
  return write_truth();
}
