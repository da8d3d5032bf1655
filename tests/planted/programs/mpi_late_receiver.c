// Rank 0 sends synchronously to a rank that prepares its buffer first, and waits for it in each step.
// planted: class=late-receiver function=collect ranks=2 processes=2 options=-O0

#include <mpi.h>

#include "planted.h"

enum { kSteps = 80 };
static double values[512];
static long long came_ns[2][kSteps];

static void deliver(int step) {
  rest_us(2000);
  came_ns[0][step] = now_ns();
  MPI_Ssend(values, 512, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
}

static void collect(int step) {
  rest_us(14000);
  came_ns[1][step] = now_ns();
  MPI_Recv(values, 512, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // <- cause
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) deliver(step);
    if (rank == 1) collect(step);
  }
  MPI_Bcast(came_ns[0], kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 1; ++step) {
    if (came_ns[1][step] > came_ns[0][step]) lost(came_ns[1][step] - came_ns[0][step]);
  }
  if (rank == 1) write_truth();
  MPI_Finalize();
  return 0;
}
