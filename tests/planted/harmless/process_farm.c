// A parent feeds two busy processes by pipes, four pieces ahead of each, and has nothing to do itself.
// planted: class=none processes=3

#include <poll.h>
#include <sys/wait.h>

#include "planted.h"

enum { kPieces = 300, kAhead = 4 };

static void compute_pieces(int in, int out) {
  int piece = 0;
  while (read(in, &piece, sizeof piece) == sizeof piece) {
    COMPUTE_US(6000);
    if (write(out, &piece, sizeof piece) != sizeof piece) break;
  }
  _exit(0);
}

int main(void) {
  int to[2][2], from[2][2], next = 0;
  for (int c = 0; c < 2; ++c) {
    if (pipe(to[c]) != 0 || pipe(from[c]) != 0) return 1;
    if (fork() == 0) {
      for (int each = 0; each <= c; ++each) close(to[each][1]);
      compute_pieces(to[c][0], from[c][1]);
    }
    close(to[c][0]);
    close(from[c][1]);
  }
  for (; next < 2 * kAhead; ++next) {
    if (write(to[next % 2][1], &next, sizeof next) != sizeof next) return 1;
  }
  for (int got = 0; got < kPieces;) {
    struct pollfd ready[2] = {{from[0][0], POLLIN, 0}, {from[1][0], POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) return 1;
    for (int c = 0; c < 2; ++c) {
      int piece = 0;
      if ((ready[c].revents & POLLIN) == 0) continue;
      if (read(from[c][0], &piece, sizeof piece) != sizeof piece) return 1;
      ++got;
      if (next < kPieces && write(to[c][1], &next, sizeof next) != sizeof next) return 1;
      ++next;
    }
  }
  close(to[0][1]);
  close(to[1][1]);
  while (wait(NULL) > 0) {
  }
  return write_truth();
}
