// Rank 0 alone reads and sorts the input of each step; the other rank waits for its broadcast.
// planted: class=wait-at-collective|serial-section function=DistributeInput|SortInput ranks=2 processes=2

#include <mpi.h>

#include <vector>

#include "planted.h"

namespace {
constexpr int kSteps = 60;
std::vector<long long> came_ns(kSteps);

void SortInput() {
  COMPUTE_US(16000);  // <- cause
}

void DistributeInput(int rank, int step, std::vector<double>& input) {
  if (rank == 0) SortInput();
  came_ns[step] = now_ns();
  MPI_Bcast(input.data(), static_cast<int>(input.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);  // <- cause
}
}  // namespace

int main(int argc, char** argv) {
  int rank = 0;
  std::vector<double> input(1000);
  std::vector<long long> root_ns;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < kSteps; ++step) {
    DistributeInput(rank, step, input);
    COMPUTE_US(4000);
  }
  root_ns = came_ns;
  MPI_Bcast(root_ns.data(), kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 1; ++step) {
    if (root_ns[step] > came_ns[step]) lost(root_ns[step] - came_ns[step]);
  }
  if (rank == 1) write_truth();
  MPI_Finalize();
  return 0;
}
