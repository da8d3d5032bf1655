// Ranks that use most ways of MPI to exchange something, in every round. Usage: mpi_mix [ROUNDS [PAUSE_US]]
// Rank 0 prints how many messages were sent, and how many parts there were in collective operations, by all ranks.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kCount = 2000 };

static int rank, size;
static long long sent, parts;
static double out[kCount], in[2][kCount];

static void ring_round(int round) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[3];
  MPI_Status statuses[3];
  MPI_Sendrecv(out, 10, MPI_DOUBLE, right, 1, in[0], 10, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Irecv(in[0], kCount, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(in[1], kCount, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(out, kCount - round % 100, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[2]);
  MPI_Send(out, 20, MPI_DOUBLE, left, 3, MPI_COMM_WORLD);
  MPI_Waitall(3, requests, statuses);
  sent += 3;
}

static void tested_round(void) {
  const int partner = rank ^ 1;
  if (partner >= size) return;
  MPI_Request request;
  int done = 0;
  MPI_Irecv(in[0], 10, MPI_DOUBLE, partner, 4, MPI_COMM_WORLD, &request);
  MPI_Send(out, 5, MPI_DOUBLE, partner, 4, MPI_COMM_WORLD);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  sent += 1;
}

static void collective_round(MPI_Comm halves) {
  double sum = 0;
  MPI_Request request;
  MPI_Allreduce(&out[0], &sum, 1, MPI_DOUBLE, MPI_SUM, halves);
  MPI_Bcast(out, 100, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
  MPI_Reduce(&out[0], &sum, 1, MPI_DOUBLE, MPI_MAX, 0, halves);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  parts += 4;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 20;
  const int pause_us = argc > 2 ? atoi(argv[2]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm halves;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);  // numbered the other way round
  for (int round = 0; round < rounds; ++round) {
    ring_round(round);
    tested_round();
    collective_round(halves);
    if (pause_us > 0) usleep((useconds_t)pause_us);
  }
  long long mine[2] = {sent, parts + 1}, all[2] = {0, 0};
  MPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%lld %lld\n", all[0], all[1]);
  MPI_Comm_free(&halves);
  MPI_Finalize();
  return 0;
}
