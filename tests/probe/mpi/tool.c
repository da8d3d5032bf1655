// A program with a tool that has a function of its own in the library's place.
#include <mpi.h>
#include <stdio.h>

int messages_seen(void);

int main(int argc, char** argv) {
  int rank = 0, got = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 7; ++i) {
    if (rank == 0) MPI_Send(&i, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank == 0) printf("the tool saw %d messages\n", messages_seen());
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
