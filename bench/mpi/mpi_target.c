// Two ranks that send a message to and fro. Rank 0 reads "BYTES TIMES IS_TIMED" lines and answers with nanoseconds;
// rank 1 sleeps meanwhile, so that another pair can be measured. IS_TIMED is 1 for three bare readings of the clock in
// each exchange: after what is received, after what is sent, and before the next receive.

#include <mpi.h>
#include <stdint.h>
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

static volatile uint64_t g_time;
static void read_clock(long is_timed) {
#ifdef __x86_64__
  if (is_timed) g_time = __builtin_ia32_rdtsc();
#else
  if (is_timed) g_time = (uint64_t)now();
#endif
}

static void send_to(int other, char* message, int bytes, long is_timed) {
  MPI_Send(message, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  read_clock(is_timed);
}
static void receive_from(int other, char* message, int bytes, long is_timed) {
  read_clock(is_timed);
  MPI_Recv(message, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  read_clock(is_timed);
}

/// @param order bytes, times, is_timed  @return nanoseconds
static long ping_pong(int rank, char* message, const long* order) {
  const int bytes = (int)order[0];
  MPI_Barrier(MPI_COMM_WORLD);
  const long start = now();
  for (long i = 0; i < order[1]; ++i) {
    if (rank == 0) {
      send_to(1, message, bytes, order[2]);
      receive_from(1, message, bytes, order[2]);
    } else {
      receive_from(0, message, bytes, order[2]);
      send_to(0, message, bytes, order[2]);
    }
  }
  const long took = now() - start;
  MPI_Barrier(MPI_COMM_WORLD);  // what was received last is written in the next call
  return took;
}

/// What rank 0 was asked for, for both, by a pipe in the file system: nobody polls.
static void hand_over(int rank, int file, long* order) {
  if (rank == 0 && write(file, order, 3 * sizeof *order) != (ssize_t)(3 * sizeof *order)) MPI_Abort(MPI_COMM_WORLD, 1);
  if (rank == 1 && read(file, order, 3 * sizeof *order) != (ssize_t)(3 * sizeof *order)) order[0] = -1;
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  FILE* pipe = argc > 1 ? fopen(argv[1], rank == 0 ? "w" : "r") : NULL;
  char* message = calloc(1, 1 << 20);
  if (pipe == NULL || message == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  while (1) {
    long order[3] = {-1, 0, 0};
    if (rank == 0 && scanf("%ld %ld %ld", &order[0], &order[1], &order[2]) != 3) order[0] = -1;
    hand_over(rank, fileno(pipe), order);
    if (order[0] < 0) break;
    const long ns = ping_pong(rank, message, order);
    if (rank == 0) {
      printf("%ld\n", ns);
      fflush(stdout);
    }
  }
  MPI_Finalize();
  return 0;
}
