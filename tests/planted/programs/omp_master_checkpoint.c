// A checkpoint is packed by the first thread of a team alone, and the other one waits for it.
// planted: class=serial-section|load-imbalance function=pack_checkpoint|step options=-fopenmp,-O0 compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static void pack_checkpoint(void) {
  COMPUTE_US(9000);  // <- cause
}

static void step(void) {
#pragma omp parallel
  {
    COMPUTE_US(3000);
#pragma omp barrier
#pragma omp master
    {
      pack_checkpoint();
    }
    const long long before_ns = now_ns();
#pragma omp barrier         // <- cause
    lost_since(before_ns);  // <- cause
  }
}

int main(void) {
  for (int i = 0; i < 100; ++i) step();
  return write_truth();
}
