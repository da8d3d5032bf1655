// Four threads compute on two CPUs without ever meeting: more threads than CPUs cost nothing here.
// planted: class=none

#include "planted.h"

static void* compute(void* nothing) {
  COMPUTE_US(600000);
  return nothing;
}

int main(void) {
  run_threads(4, compute);
  return 0;
}
