// A parallel region is opened for every short row, so that its begin and end take longer than the row.
// planted: class=wait-at-barrier function=scale_row options=-fopenmp compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2,OMP_WAIT_POLICY=passive tolerance=none

#include <omp.h>

#include "planted.h"

static double row_values[64];

static void scale_row(double factor) {
#pragma omp parallel for schedule(static)                                   // <- cause
  for (int i = 0; i < 64; ++i) row_values[i] = row_values[i] * factor + 1;  // <- cause
}

int main(void) {
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1200000000LL) scale_row(1.0000001);
  return write_truth();
}
