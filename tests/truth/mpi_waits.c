// Ranks of an MPI job that wait for each other because one of them is late, or that exchange in balance.
// Usage: mpi_waits sender|busy|receiver|reduce|barrier|relay|waitall|stencil
//   sender    rank 0 sends late, each time
//   busy      the same, because it computes
//   receiver  rank 1 receives late what is sent synchronously
//   reduce    rank 1 comes late to a reduction of all
//   barrier   rank 1 comes late to a barrier
//   relay     rank 0 is late; rank 1 passes on what it gets: rank 2 waits for 0 as well
//   waitall   as sender, in calls that wait for several at once
//   stencil   all ranks need as long as each other, and exchange with their neighbours
// Each rank notes when it comes to its calls; what ranks lost is how much later the other one came. How long a rank
// then takes to notice depends on who else wants its CPU.

#include <mpi.h>

#include "truth.h"

enum { kRounds = 40, kMostRanks = 16, kLateUs = 20000, kOnTimeUs = 5000, kHalo = 8192 };

/// When a rank came to what it does in a round, and to the second thing that it does.
typedef struct Came {
  long long first_ns, second_ns;
} Came;

static int rank, size, computes;
static double halo[2][kHalo];
static Came came[kRounds];
static Came* now_at;

static void note_first(void) { now_at->first_ns = now_ns(); }
static void note_second(void) { now_at->second_ns = now_ns(); }

/// Needs no system call but to look at the time, once in a while.
static double compute_us(long us) {
  volatile double x = 1;
  const long long end_ns = cpu_ns() + us * 1000LL;
  do {
    for (int i = 0; i < 200000; ++i) x = x * 1.0000001 + 1e-9;  // what makes it late
  } while (cpu_ns() < end_ns);
  return x;
}

static void send_late(void) {
  int value = 0;
  if (computes) {
    compute_us(kLateUs);
  } else {
    rest_us(kLateUs);
  }
  note_first();
  MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);  // late sender
}

static void receive_from(int whom) {
  int value = 0;
  note_first();
  MPI_Recv(&value, 1, MPI_INT, whom, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sender_round(void) {
  if (rank == 0) send_late();
  if (rank == 1) {
    rest_us(kOnTimeUs);
    receive_from(0);
  }
}

static void relay_round(void) {
  int value = 0;
  if (rank == 0) send_late();
  if (rank == 1) {
    receive_from(0);
    note_second();
    MPI_Send(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
  }
  if (rank == 2) receive_from(1);
}

static void receiver_round(void) {
  int value = 0;
  if (rank == 0) {
    rest_us(kOnTimeUs);
    note_first();
    MPI_Ssend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  if (rank == 1) {
    rest_us(kLateUs);
    note_first();
    MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // late receiver
  }
}

static void meeting_round(int is_barrier) {
  double value = rank, sum = 0;
  rest_us(rank == 1 ? kLateUs : kOnTimeUs);
  note_first();
  if (is_barrier) {
    MPI_Barrier(MPI_COMM_WORLD);  // late to the barrier
  } else {
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // late to the reduction
  }
}

static void waitall_round(void) {
  if (rank == 0) {
    rest_us(kLateUs);
    MPI_Send(halo[0], 16, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    note_first();
    MPI_Send(halo[1], 16, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD);  // the last of both
  }
  if (rank == 1) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Irecv(halo[0], 16, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(halo[1], 16, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &requests[1]);
    rest_us(kOnTimeUs);
    note_first();
    MPI_Waitall(2, requests, statuses);
  }
}

static void stencil_round(void) {
  rest_us(kLateUs);
  const int left = rank == 0 ? MPI_PROC_NULL : rank - 1, right = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
  MPI_Sendrecv(halo[0], kHalo, MPI_DOUBLE, right, 0, halo[1], kHalo, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(halo[0], kHalo, MPI_DOUBLE, left, 1, halo[1], kHalo, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static long long later(long long other_ns, long long own_ns) { return other_ns > own_ns ? other_ns - own_ns : 0; }

/// What all ranks lost in one round. @param of each rank
static long long lost_in_round(const char* kind, const Came* of) {
  if (strcmp(kind, "receiver") == 0) return later(of[1].first_ns, of[0].first_ns);
  if (strcmp(kind, "relay") == 0) return later(of[0].first_ns, of[1].first_ns) + later(of[1].second_ns, of[2].first_ns);
  if (strcmp(kind, "reduce") == 0 || strcmp(kind, "barrier") == 0) {
    long long last_ns = 0, lost = 0;
    for (int i = 0; i < size; ++i) last_ns = of[i].first_ns > last_ns ? of[i].first_ns : last_ns;
    for (int i = 0; i < size; ++i) lost += later(last_ns, of[i].first_ns);
    return lost;
  }
  return later(of[0].first_ns, of[1].first_ns);
}

int main(int argc, char** argv) {
  static Came all[kMostRanks][kRounds];
  const char* kind = argc > 1 ? argv[1] : "sender";
  computes = strcmp(kind, "busy") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int round = 0; round < kRounds; ++round) {
    now_at = &came[round];
    if (strcmp(kind, "sender") == 0 || computes) sender_round();
    if (strcmp(kind, "receiver") == 0) receiver_round();
    if (strcmp(kind, "reduce") == 0) meeting_round(0);
    if (strcmp(kind, "barrier") == 0) meeting_round(1);
    if (strcmp(kind, "relay") == 0) relay_round();
    if (strcmp(kind, "waitall") == 0) waitall_round();
    if (strcmp(kind, "stencil") == 0) stencil_round();
  }
  MPI_Gather(came, sizeof came, MPI_BYTE, all, sizeof came, MPI_BYTE, 0, MPI_COMM_WORLD);
  long long lost = 0;
  for (int round = 0; rank == 0 && round < kRounds; ++round) {
    Came of[kMostRanks];
    for (int i = 0; i < size; ++i) of[i] = all[i][round];
    lost += lost_in_round(kind, of);
  }
  if (rank == 0) printf("lost_ns %lld\n", lost);
  MPI_Finalize();
  return 0;
}
