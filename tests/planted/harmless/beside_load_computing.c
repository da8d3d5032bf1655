// Two balanced threads compute while another program takes half of the CPUs.
// planted: class=none beside="stress-ng --cpu 2"

#include "planted.h"

static void* compute(void* nothing) {
  COMPUTE_US(600000);
  return nothing;
}

int main(void) {
  run_threads(2, compute);
  return 0;
}
