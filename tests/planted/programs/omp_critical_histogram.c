// Values of a parallel loop are computed inside the critical section that only has to add them.
// planted: class=lock-contention function=fill_histogram options=-fopenmp compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static long histogram[64];

static void fill_histogram(int values) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < values; ++i) {
    COMPUTE_US(500);
    const long long before_ns = now_ns();
#pragma omp critical  // <- cause
    {
      lost_since(before_ns);  // <- cause
      COMPUTE_US(2000);
      histogram[i % 64]++;
    }
  }
}

int main(void) {
  fill_histogram(500);
  return write_truth();
}
