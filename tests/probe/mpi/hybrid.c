#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int provided = 0, rank = 0;
  double all = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i) {
    double own = 0;
#pragma omp parallel for reduction(+ : own)
    for (int k = 0; k < 1000; ++k) own += k;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%g\n", all);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
