// Rows of a result are merged under one lock of the OpenMP runtime.
// planted: class=lock-contention function=merge_row options=-fopenmp,-O0 compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static omp_lock_t result_lock;
static double result[128];

static void merge_row(int row) {
  const long long before_ns = now_ns();
  omp_set_lock(&result_lock);  // <- cause
  lost_since(before_ns);
  result[row % 128] += row;
  COMPUTE_US(1500);
  omp_unset_lock(&result_lock);
}

int main(void) {
  omp_init_lock(&result_lock);
#pragma omp parallel for schedule(static)
  for (int row = 0; row < 600; ++row) {
    COMPUTE_US(500);
    merge_row(row);
  }
  omp_destroy_lock(&result_lock);
  return write_truth();
}
