// Two threads allocate and free small blocks, each from an arena of its own, as the C library gives them.
// planted: class=none

#include "planted.h"

static void* churn(void* nothing) {
  void* blocks[64] = {NULL};
  const long long before_ns = cpu_ns();
  for (unsigned i = 0; cpu_ns() - before_ns < 1200000000LL; ++i) {
    for (unsigned at = 0; at < 64; ++at) {
      free(blocks[at]);
      blocks[at] = malloc(16 + (i + at) % 400);
    }
  }
  for (int at = 0; at < 64; ++at) free(blocks[at]);
  return nothing;
}

int main(void) {
  run_threads(2, churn);
  return 0;
}
