// A program that is linked statically computes with two threads.
// planted: class=none options=-static

#include "planted.h"

static void* compute(void* nothing) {
  COMPUTE_US(1200000);
  return nothing;
}

int main(void) {
  run_threads(2, compute);
  return 0;
}
