/* Ranks that compute a little and then add up, again and again. mpi_rounds SECONDS: prints how often. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 5);
  unsigned long state = 1, rounds = 0;
  for (int goes_on = 1; goes_on;) {
    for (int i = 0; i < 100000; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
    double own = (double)(state & 1), all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    ++rounds;
    if (rounds % 16 != 0) continue;
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%lu rounds\n", rounds);
  MPI_Finalize();
  return 0;
}
