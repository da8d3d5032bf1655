// Two ranks compute the same amount between reductions.
// planted: class=none ranks=2

#include <mpi.h>

#include "planted.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  double own = 1, sum = 0;
  for (int step = 0; step < 40; ++step) {
    COMPUTE_US(30000);
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum != 2;
}
