// A numerical integral by a reduction of OpenMP.
// planted: class=none options=-fopenmp compilers=gcc,clang environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

namespace {
double Integrate(long steps) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
  for (long i = 0; i < steps; ++i) {
    const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(steps);
    sum += 4 / (1 + x * x);
  }
  return sum / static_cast<double>(steps);
}
}  // namespace

int main() {
  double pi = 0;
  for (int i = 0; i < 6; ++i) pi += Integrate(100000000) / 6;
  return pi < 3 || pi > 4;
}
