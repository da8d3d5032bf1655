// Workers with little to do, beside another program that takes all CPUs: the others' load is not this program's.
// planted: class=none beside="stress-ng --cpu 4" options=-O0

#include "planted.h"

static void* work_a_little(void* nothing) {
  for (int i = 0; i < 25; ++i) {
    rest_us(50000);
    COMPUTE_US(2000);
  }
  return nothing;
}

int main(void) {
  run_threads(6, work_a_little);
  return 0;
}
