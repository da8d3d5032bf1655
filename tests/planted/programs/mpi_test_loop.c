// A rank asks by MPI_Test in a loop for a message that comes late, and does nothing meanwhile.
// planted: class=late-sender|busy-wait function=send_answer|await_answer ranks=2 processes=2 options=-O0

#include <mpi.h>

#include "planted.h"

enum { kSteps = 80 };
static double answer[16];
static long long came_ns[kSteps];

static void send_answer(int step) {
  COMPUTE_US(14000);
  came_ns[step] = now_ns();
  MPI_Send(answer, 16, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);  // <- cause
}

static void await_answer(int step) {
  MPI_Request request;
  MPI_Irecv(answer, 16, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
  COMPUTE_US(2000);
  came_ns[step] = now_ns();
  for (int is_there = 0; !is_there;) MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);  // <- cause
}

int main(int argc, char** argv) {
  int rank = 0;
  long long sent_ns[kSteps];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < kSteps; ++step) {
    if (rank == 0) send_answer(step);
    if (rank == 1) await_answer(step);
  }
  memcpy(sent_ns, came_ns, sizeof sent_ns);
  MPI_Bcast(sent_ns, kSteps, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  for (int step = 0; step < kSteps && rank == 1; ++step) {
    if (sent_ns[step] > came_ns[step]) lost(sent_ns[step] - came_ns[step]);
  }
  if (rank == 1) write_truth();
  MPI_Finalize();
  return 0;
}
