// Partial sums of a loop lie in one array by thread number, in one cache line.
// planted: class=false-sharing function=sum_in_parallel options=-fopenmp compilers=gcc,clang tolerance=none
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static _Alignas(64) volatile double sums[8];

static void sum_in_parallel(long count) {
#pragma omp parallel
  {
    const int thread = omp_get_thread_num();
#pragma omp for schedule(static)
    for (long i = 0; i < count; ++i) sums[thread] += 1.0 / (double)(i + 1);  // <- cause
  }
}

int main(void) {
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1300000000LL) sum_in_parallel(30000000);
  return write_truth() + (sums[0] + sums[1] < 1);
}
