// Rank 0 computes its part of the halo for long before it sends it; rank 1 is at its receive much earlier.
// planted: class=late-sender function=send_halo ranks=2 processes=2

#include <mpi.h>

#include "planted.h"

enum { kSteps = 80 };
static double halo[64];
static long long came_ns[2][kSteps];

static void send_halo(int step) {
  COMPUTE_US(15000);
  came_ns[0][step] = now_ns();
  MPI_Send(halo, 64, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);  // <- cause
}

static void receive_halo(int step) {
  rest_us(2000);
  came_ns[1][step] = now_ns();
  MPI_Recv(halo, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) send_halo(step);
    if (rank == 1) receive_halo(step);
  }
  MPI_Bcast(came_ns[0], kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 1; ++step) {
    if (came_ns[0][step] > came_ns[1][step]) lost(came_ns[0][step] - came_ns[1][step]);
  }
  if (rank == 1) write_truth();
  MPI_Finalize();
  return 0;
}
