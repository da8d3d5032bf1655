// Two ranks that send a message to and fro. Rank 0 reads "BYTES TIMES" lines and answers with nanoseconds; rank 1
// sleeps meanwhile, so that another pair can be measured.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

/// @return nanoseconds
static long ping_pong(int rank, char* message, int bytes, long times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const long start = now();
  for (long i = 0; i < times; ++i) {
    if (rank == 0) {
      MPI_Send(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  const long took = now() - start;
  MPI_Barrier(MPI_COMM_WORLD);  // what was received last is written in the next call
  return took;
}

/// What rank 0 was asked for, for both, by a pipe in the file system: nobody polls.
static void hand_over(int rank, int file, long* order) {
  if (rank == 0 && write(file, order, 2 * sizeof *order) != (ssize_t)(2 * sizeof *order)) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 1 && read(file, order, 2 * sizeof *order) != (ssize_t)(2 * sizeof *order)) order[0] = -1;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* pipe = argc > 1 ? fopen(argv[1], rank == 0 ? "w" : "r") : NULL;
  char* message = calloc(1, 1 << 20);
  if (pipe == NULL || message == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  while (1) {
    long order[2] = {-1, 0};
    if (rank == 0 && scanf("%ld %ld", &order[0], &order[1]) != 2) order[0] = -1;
    hand_over(rank, fileno(pipe), order);
    if (order[0] < 0) break;
    const long ns = ping_pong(rank, message, (int)order[0], order[1]);
    if (rank == 0) {
      printf("%ld\n", ns);
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
