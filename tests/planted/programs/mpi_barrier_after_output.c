// Rank 0 writes a protocol in each step, and the others wait for it at MPI_Barrier.
// planted: class=wait-at-collective function=end_step ranks=3 processes=3 options=-O0

#include <mpi.h>

#include "planted.h"

enum { kSteps = 60, kRanks = 3 };
static long long came_ns[kSteps];

static void write_protocol(void) { rest_us(15000); }

static void end_step(int step) {
  came_ns[step] = now_ns();
  MPI_Barrier(MPI_COMM_WORLD);  // <- cause
}

int main(int argc, char** argv) {
  int rank = 0;
  static long long all_ns[kRanks][kSteps];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    rest_us(3000);
    if (rank == 0) write_protocol();
    end_step(step);
  }
  MPI_Gather(came_ns, kSteps, MPI_LONG_LONG, all_ns, kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 0; ++step) {
    long long last_ns = 0;
    for (int each = 0; each < kRanks; ++each) last_ns = all_ns[each][step] > last_ns ? all_ns[each][step] : last_ns;
    for (int each = 0; each < kRanks; ++each) lost(last_ns - all_ns[each][step]);
  }
  if (rank == 0) write_truth();
  MPI_Finalize();
  return 0;
}
