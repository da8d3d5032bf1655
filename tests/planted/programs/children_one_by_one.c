// Independent pieces are computed by child processes, each waited for before the next is started.
// planted: class=child-wait function=run_pieces|run_piece processes=5

#include <sys/wait.h>

#include "planted.h"

static void run_piece(void) {
  const pid_t child = fork();
  if (child == 0) {
    COMPUTE_US(120000);
    _exit(0);
  }
  const long long before_ns = now_ns();
  waitpid(child, NULL, 0);  // <- cause
  lost_since(before_ns);
}

static void run_pieces(int pieces) {
  for (int i = 0; i < pieces; ++i) run_piece();  // <- cause
}

int main(void) {
  run_pieces(10);
  return write_truth();
}
