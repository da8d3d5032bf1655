// Each number of a row is sent in a message of its own.
// planted: class=small-messages function=send_row ranks=2 processes=2 tolerance=none

#include <mpi.h>

#include "planted.h"

enum { kNumbers = 1000, kRows = 1000 };
static double row[kNumbers];

static void send_row(void) {
  for (int i = 0; i < kNumbers; ++i) MPI_Send(&row[i], 1, MPI_DOUBLE, 1, i, MPI_COMM_WORLD);  // <- cause
}

static void receive_row(void) {
  for (int i = 0; i < kNumbers; ++i) MPI_Recv(&row[i], 1, MPI_DOUBLE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < kRows; ++i) {
    if (rank == 0) send_row();
    if (rank == 1) receive_row();
    COMPUTE_US(300);
  }
  MPI_Finalize();
  return write_truth();
}
