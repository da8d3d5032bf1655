// A job of any number of ranks for the page's tests: a ring, an exchange with neighbours, and what some are late for.
// Usage: mpi_job SECONDS [REST_US [LATE_US [ROUNDS]]]
//   Until that time is over, or so many rounds are done. In each round all ranks rest, rank 0 LATE_US longer; each
//   sends to the next one, and its halo to both neighbours at once; rank 1 tells all others what they wait for; all add
//   up. Rank r sends 1000 x (r + 1) bytes round the ring.

#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kMostBytes = 1 << 20, kHalo = 4096, kRingTag = 1, kHaloTag = 2, kLateUs = 5000, kRestUs = 500 };

static char out[kMostBytes], in[kMostBytes], halo[4][kHalo];
static int rank, size;

static double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void rest_us(long us) {
  const struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

static void pass_round(void) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size, bytes = 1000 * (rank + 1);
  if (rank % 2 == 0) {
    MPI_Send(out, bytes, MPI_BYTE, next, kRingTag, MPI_COMM_WORLD);
    MPI_Recv(in, kMostBytes, MPI_BYTE, before, kRingTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, kMostBytes, MPI_BYTE, before, kRingTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, bytes, MPI_BYTE, next, kRingTag, MPI_COMM_WORLD);
  }
}

static void exchange_halo(void) {
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1, right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  MPI_Request requests[4];
  MPI_Irecv(halo[0], kHalo, MPI_BYTE, left, kHaloTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(halo[1], kHalo, MPI_BYTE, right, kHaloTag, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(halo[2], kHalo, MPI_BYTE, left, kHaloTag, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(halo[3], kHalo, MPI_BYTE, right, kHaloTag, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/// The sum says whether there is another round, so that all have as many.
static int meet(int go_on) {
  int all = 0, what = rank;
  MPI_Bcast(&what, 1, MPI_INT, size > 1 ? 1 : 0, MPI_COMM_WORLD);
  MPI_Allreduce(&go_on, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 5;
  const long rest = argc > 2 ? atol(argv[2]) : kRestUs, late = argc > 3 ? atol(argv[3]) : kLateUs;
  const long rounds = argc > 4 ? atol(argv[4]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (1000 * size > kMostBytes) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(out, rank, sizeof out);
  const double end_s = now_s() + seconds;
  int go_on = 1;
  for (long round = 1; go_on; ++round) {
    rest_us(rank == 0 ? rest + late : rest);
    pass_round();
    exchange_halo();
    go_on = meet(now_s() < end_s && (rounds == 0 || round < rounds));
  }
  MPI_Finalize();
  return 0;
}
