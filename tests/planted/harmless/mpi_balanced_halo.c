// Two ranks exchange large halos with each other after equal steps.
// planted: class=none ranks=2 options=-O0

#include <mpi.h>

#include "planted.h"

enum { kHalo = 8192 };
static double halo[2][kHalo];

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 40; ++step) {
    COMPUTE_US(30000);
    MPI_Sendrecv(halo[0], kHalo, MPI_DOUBLE, 1 - rank, 0, halo[1], kHalo, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return 0;
}
