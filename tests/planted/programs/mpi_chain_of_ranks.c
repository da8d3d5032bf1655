// A line of ranks passes each result on; the first one is slow, and the last waits for it through the one between.
// planted: class=late-sender function=first_rank ranks=3 processes=3

#include <mpi.h>

#include "planted.h"

enum { kSteps = 60 };
static double result[8];
static long long came_ns[2][kSteps];

static void first_rank(int step) {
  rest_us(17000);
  came_ns[0][step] = now_ns();
  MPI_Send(result, 8, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);  // <- cause
}

static void middle_rank(int step) {
  came_ns[0][step] = now_ns();
  MPI_Recv(result, 8, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  came_ns[1][step] = now_ns();
  MPI_Send(result, 8, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD);
}

static void last_rank(int step) {
  came_ns[0][step] = now_ns();
  MPI_Recv(result, 8, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static long long later(long long sent_ns, long long received_ns) {
  return sent_ns > received_ns ? sent_ns - received_ns : 0;
}

int main(int argc, char** argv) {
  int rank = 0;
  static long long all_ns[3][2][kSteps];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) first_rank(step);
    if (rank == 1) middle_rank(step);
    if (rank == 2) last_rank(step);
  }
  MPI_Gather(came_ns, 2 * kSteps, MPI_LONG_LONG, all_ns, 2 * kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 0; ++step) {
    lost(later(all_ns[0][0][step], all_ns[1][0][step]) + later(all_ns[1][1][step], all_ns[2][0][step]));
  }
  if (rank == 0) write_truth();
  MPI_Finalize();
  return 0;
}
