// Ranks that send each other much, two and two, each on the CPU that it is told to be on. Usage: mpi_pairs CPU,CPU,...

#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 200, kBytes = 1 << 20 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* at = argc > 1 ? argv[1] : NULL;
  for (int i = 0; i < rank && at != NULL; ++i) at = strchr(at, ',') == NULL ? NULL : strchr(at, ',') + 1;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(at == NULL ? 0 : (size_t)atoi(at), &cpus);
  if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) perror("sched_setaffinity");
  char* out = calloc(kBytes, 1);
  char* in = calloc(kBytes, 1);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Sendrecv(out, kBytes, MPI_CHAR, rank ^ 1, 0, in, kBytes, MPI_CHAR, rank ^ 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
