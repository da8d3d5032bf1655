// Between two parallel loops the first thread alone sorts what they have made.
// planted: class=serial-section function=sort_results|by_value options=-fopenmp compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2,OMP_WAIT_POLICY=passive

#include <omp.h>

#include "planted.h"

static unsigned results[1 << 14];

static int by_value(const void* a, const void* b) {
  const unsigned x = *(const unsigned*)a, y = *(const unsigned*)b;  // <- cause
  return x < y ? -1 : x > y;                                        // <- cause
}

static void make_results(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < 20; ++i) COMPUTE_US(500);
}

static void sort_results(void) {
  const long long before_ns = now_ns();
  // <- cause: begin
  for (int pass = 0; pass < 4; ++pass) {
    for (int i = 0; i < 1 << 14; ++i) results[i] = (unsigned)(i + pass) * 2654435761U;
    qsort(results, 1 << 14, sizeof *results, by_value);
  }
  // <- cause: end
  lost_since(before_ns);
}

int main(void) {
  for (int step = 0; step < 80; ++step) {
    make_results();
    sort_results();
  }
  return write_truth();
}
