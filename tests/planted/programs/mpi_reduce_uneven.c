// Rank 1 has three times as many particles, and all ranks add up their energy in each step.
// planted: class=wait-at-collective function=total_energy ranks=2 processes=2

#include <mpi.h>

#include "planted.h"

enum { kSteps = 90 };
static long long came_ns[kSteps];

static double total_energy(double own, int step) {
  double total = 0;
  came_ns[step] = now_ns();
  MPI_Allreduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // <- cause
  return total;
}

static void move_particles(int particles) { COMPUTE_US(particles * 10); }

int main(int argc, char** argv) {
  int rank = 0;
  double energy = 0;
  long long all_ns[2][kSteps];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < kSteps; ++step) {
    move_particles(rank == 1 ? 1200 : 400);
    energy += total_energy(rank, step);
  }
  MPI_Gather(came_ns, kSteps, MPI_LONG_LONG, all_ns, kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 0; ++step) lost(llabs(all_ns[0][step] - all_ns[1][step]));
  if (rank == 0) write_truth();
  MPI_Finalize();
  return energy < 0;
}
