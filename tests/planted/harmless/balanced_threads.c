// Two threads compute the same amount, and end together.
// planted: class=none

#include "planted.h"

static void* compute_half(void* nothing) {
  COMPUTE_US(1200000);
  return nothing;
}

int main(void) {
  run_threads(2, compute_half);
  return 0;
}
