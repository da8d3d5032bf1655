// A triangular loop that is dealt out dynamically, so that both threads end together.
// planted: class=none options=-fopenmp compilers=gcc,clang environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

int main(void) {
  for (int step = 0; step < 3; ++step) {
#pragma omp parallel for schedule(dynamic)
    for (int row = 400; row > 0; --row) COMPUTE_US(row * 10);
  }
  return 0;
}
