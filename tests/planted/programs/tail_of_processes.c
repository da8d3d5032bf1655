// Two child processes render halves of a picture; the half with the sky is done early.
// planted: class=tail-imbalance function=render_half processes=3

#include <sys/wait.h>

#include "planted.h"

static void render_half(int half) {
  COMPUTE_US(half == 0 ? 1300000 : 500000);  // <- cause
}

int main(void) {
  long long end_ns[2];
  for (int half = 0; half < 2; ++half) {
    if (fork() == 0) {
      render_half(half);
      _exit(0);
    }
  }
  for (int i = 0; i < 2; ++i) {
    wait(NULL);
    end_ns[i] = now_ns();
  }
  lost(end_ns[1] - end_ns[0]);
  return write_truth();
}
