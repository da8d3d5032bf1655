// Two ranks exchange borders by MPI_Sendrecv; rank 1 computes three times as long before it.
// planted: class=late-sender function=exchange ranks=2 processes=2

#include <mpi.h>

#include "planted.h"

enum { kSteps = 100 };

static void exchange(int rank) {
  double mine = rank, theirs = 0;
  const long long before_ns = now_ns();
  MPI_Sendrecv(&mine, 1, MPI_DOUBLE, 1 - rank, 7, &theirs, 1, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD,  // <- cause
               MPI_STATUS_IGNORE);                                                                      // <- cause
  if (rank == 0) lost_since(before_ns);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < kSteps; ++step) {
    COMPUTE_US(rank == 1 ? 12000 : 4000);
    exchange(rank);
  }
  if (rank == 0) write_truth();
  MPI_Finalize();
  return 0;
}
