// A parallel loop whose iterations are all as long, in few regions.
// planted: class=none options=-fopenmp compilers=gcc,clang environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

int main(void) {
  for (int step = 0; step < 10; ++step) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 240; ++i) COMPUTE_US(1000);
  }
  return 0;
}
