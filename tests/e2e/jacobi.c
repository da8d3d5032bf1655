/* Jacobi's method for Laplace's equation on a line: each rank has a part of it, gives its ends to its neighbours in
 * each step, and all add up how much changed in every tenth. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCells = 2000, kStepsASum = 10 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = argc > 1 ? atoi(argv[1]) : 100;
  double* now = calloc(kCells + 2, sizeof *now);
  double* next = calloc(kCells + 2, sizeof *next);
  if (now == NULL || next == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  const int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  double all = 0;
  for (int step = 1; step <= steps; ++step) {
    MPI_Sendrecv(&now[kCells], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 1, &now[kCells + 1], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (rank == 0) now[0] = 1; /* the boundary */
    double changed = 0;
    for (int i = 1; i <= kCells; ++i) {
      next[i] = (now[i - 1] + now[i + 1]) / 2;
      changed += (next[i] - now[i]) * (next[i] - now[i]);
    }
    double* swapped = now;
    now = next;
    next = swapped;
    if (step % kStepsASum == 0) MPI_Allreduce(&changed, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("changed by %.17g\n", all);
  free(now);
  free(next);
  MPI_Finalize();
  return 0;
}
