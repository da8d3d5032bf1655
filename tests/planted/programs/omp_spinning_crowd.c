// Six threads of a team spin at barriers on two CPUs: those with work wait for a CPU on which others spin.
// planted: class=oversubscription options=-fopenmp compilers=gcc,clang tolerance=none
// planted: environment=OMP_NUM_THREADS=6,OMP_WAIT_POLICY=active

#include <omp.h>

#include "planted.h"

int main(void) {
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1500000000LL) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 12; ++i) COMPUTE_US(150);
  }
  return write_truth();
}
