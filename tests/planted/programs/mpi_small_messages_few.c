// Each step sends its two thousand borders one by one, which takes some per cent of the step.
// planted: class=small-messages function=send_borders ranks=2 processes=2 tolerance=none options=-O0

#include <mpi.h>

#include "planted.h"

enum { kBorders = 2000, kSteps = 70 };
static int borders[kBorders];

static void send_borders(int peer) {
  for (int i = 0; i < kBorders; ++i) MPI_Send(&borders[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD);  // <- cause
}

static void receive_borders(int peer) {
  for (int i = 0; i < kBorders; ++i) MPI_Recv(&borders[i], 1, MPI_INT, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    COMPUTE_US(12000);
    if (rank == 0) {
      send_borders(1);
      receive_borders(1);
    } else {
      receive_borders(0);
      send_borders(0);
    }
  }
  MPI_Finalize();
  return write_truth();
}
