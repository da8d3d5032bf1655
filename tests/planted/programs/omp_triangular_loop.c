// The rows of a triangle are dealt out in two equal blocks, though the later ones are longer.
// planted: class=load-imbalance function=solve_triangle options=-fopenmp compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static void solve_triangle(int rows) {
#pragma omp parallel
  {
#pragma omp for schedule(static) nowait
    for (int row = 0; row < rows; ++row) COMPUTE_US(row * 10);
    const long long before_ns = now_ns();
#pragma omp barrier         // <- cause
    lost_since(before_ns);  // <- cause
  }
}

int main(void) {
  for (int step = 0; step < 20; ++step) solve_triangle(120);
  return write_truth();
}
