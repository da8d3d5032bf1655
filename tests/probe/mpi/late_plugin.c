#include <mpi.h>
#include <stdio.h>

int run(void) {
  int rank = 0, got = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; ++i) {
    MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, i, &got, 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("got %d\n", got);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
