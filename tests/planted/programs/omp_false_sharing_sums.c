// Partial sums of a loop lie in one array by thread number, in one cache line.
// planted: class=false-sharing function=sum_in_parallel options=-fopenmp compilers=gcc,clang tolerance=none
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static _Alignas(64) volatile double sums[8];

static double sum_in_parallel(long count) {
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
#pragma omp for schedule(static)
    for (long i = 0; i < count; ++i) sums[thread] += 1.0 / (double)(i + 1);  // <- cause
  }
  return sums[0] + sums[1];
}

int main(void) {
  const double sum = sum_in_parallel(200000000);
  return write_truth() + (sum < 1);
}
