// A rank waits by MPI_Waitall for messages of two neighbours, of which one packs its data first.
// planted: class=late-sender function=send_packed ranks=3 processes=3

#include <mpi.h>

#include "planted.h"

enum { kSteps = 60 };
static double edges[2][32];
static long long came_ns[kSteps];

static void send_packed(int step) {
  rest_us(16000);
  came_ns[step] = now_ns();
  MPI_Send(edges[0], 32, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);  // <- cause
}

static void send_at_once(void) {
  rest_us(2000);
  MPI_Send(edges[1], 32, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
}

static void receive_both(int step) {
  MPI_Request requests[2];
  MPI_Irecv(edges[0], 32, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(edges[1], 32, MPI_DOUBLE, 2, 0, MPI_COMM_WORLD, &requests[1]);
  rest_us(3000);
  came_ns[step] = now_ns();
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  long long late_ns[kSteps];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) receive_both(step);
    if (rank == 1) send_packed(step);
    if (rank == 2) send_at_once();
  }
  memcpy(late_ns, came_ns, sizeof late_ns);
  MPI_Bcast(late_ns, kSteps, MPI_LONG_LONG, 1, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 0; ++step) {
    if (late_ns[step] > came_ns[step]) lost(late_ns[step] - came_ns[step]);
  }
  if (rank == 0) write_truth();
  MPI_Finalize();
  return 0;
}
