// Two sections run side by side, of which one takes four times as long.
// planted: class=load-imbalance|wait-at-barrier|tail-imbalance function=update_halo|update_interior|update_both
// planted: options=-fopenmp compilers=gcc,clang environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static void update_halo(void) { COMPUTE_US(3000); }
static void update_interior(void) { COMPUTE_US(12000); }  // <- cause

static void update_both(void) {
#pragma omp parallel
  {
#pragma omp sections nowait
    {
#pragma omp section
      update_halo();
#pragma omp section
      update_interior();
    }
    const long long before_ns = now_ns();
#pragma omp barrier         // <- cause
    lost_since(before_ns);  // <- cause
  }
}

int main(void) {
  for (int step = 0; step < 90; ++step) update_both();
  return write_truth();
}
