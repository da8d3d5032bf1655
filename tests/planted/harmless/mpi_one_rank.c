// A job of one rank computes.
// planted: class=none ranks=1

#include <mpi.h>

#include "planted.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  COMPUTE_US(1200000);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
