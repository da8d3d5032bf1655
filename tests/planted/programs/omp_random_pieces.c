// Pieces of a loop take long by chance, in one thread as in the other, and all meet after each piece.
// planted: class=wait-at-barrier function=sweep options=-fopenmp compilers=gcc,clang environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static int is_long(int step, int thread) { return (int)(((unsigned)step * 2654435761U >> 16) % 2) == thread; }

static void sweep(int steps) {
#pragma omp parallel
  for (int step = 0; step < steps; ++step) {
    rest_us(is_long(step, omp_get_thread_num()) ? 14000 : 2000);
    const long long before_ns = now_ns();
#pragma omp barrier         // <- cause
    lost_since(before_ns);  // <- cause
  }
}

int main(void) {
  sweep(110);
  return write_truth();
}
