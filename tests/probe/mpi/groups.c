// Collective operations and communicators, of which the program says what they are.

#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

static int g_rank, g_size;
static int g_from[4096], g_to[4096];

static void world_operations(void) {
  const int n = g_size, root = n - 1;
  const int is_root = g_rank == root;
  int counts[64], places[64];
  for (int i = 0; i < n; ++i) {
    counts[i] = i + 1;
    places[i] = 10 * i;
  }
  const long all = 4L * n * (n + 1) / 2, own = 4L * (g_rank + 1);
  OK(Barrier, MPI_COMM_WORLD);
  COLLECTIVE(Barrier, -1, 0, 0);
  OK(Bcast, g_from, 100, MPI_INT, root, MPI_COMM_WORLD);
  COLLECTIVE(Bcast, root, is_root ? 400 : 0, is_root ? 0 : 400);
  OK(Gather, g_from, 3, MPI_INT, g_to, 3, MPI_INT, root, MPI_COMM_WORLD);
  COLLECTIVE(Gather, root, 12, is_root ? 12 * n : 0);
  OK(Gather, is_root ? MPI_IN_PLACE : g_from, 3, MPI_INT, g_to, 3, MPI_INT, root, MPI_COMM_WORLD);
  COLLECTIVE(Gather, root, 12, is_root ? 12 * n : 0);
  OK(Gatherv, g_from, counts[g_rank], MPI_INT, g_to, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  COLLECTIVE(Gatherv, root, own, is_root ? all : 0);
  OK(Scatter, g_from, 5, MPI_INT, g_to, 5, MPI_INT, root, MPI_COMM_WORLD);
  COLLECTIVE(Scatter, root, is_root ? 20 * n : 0, 20);
  OK(Scatterv, g_from, counts, places, MPI_INT, g_to, counts[g_rank], MPI_INT, root, MPI_COMM_WORLD);
  COLLECTIVE(Scatterv, root, is_root ? all : 0, own);
  OK(Allgather, g_from, 2, MPI_INT, g_to, 2, MPI_INT, MPI_COMM_WORLD);
  COLLECTIVE(Allgather, -1, 8, 8 * n);
  OK(Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, g_to, 2, MPI_INT, MPI_COMM_WORLD);
  COLLECTIVE(Allgather, -1, 8, 8 * n);
  OK(Allgatherv, g_from, counts[g_rank], MPI_INT, g_to, counts, places, MPI_INT, MPI_COMM_WORLD);
  COLLECTIVE(Allgatherv, -1, own, all);
  OK(Alltoall, g_from, 2, MPI_INT, g_to, 2, MPI_INT, MPI_COMM_WORLD);
  COLLECTIVE(Alltoall, -1, 8 * n, 8 * n);
  int equal[64];
  MPI_Datatype kinds[64];
  for (int i = 0; i < n; ++i) {
    equal[i] = 6;
    kinds[i] = MPI_INT;
  }
  OK(Alltoallv, g_from, equal, places, MPI_INT, g_to, equal, places, MPI_INT, MPI_COMM_WORLD);
  COLLECTIVE(Alltoallv, -1, 24 * n, 24 * n);
  OK(Alltoallw, g_from, equal, places, kinds, g_to, equal, places, kinds, MPI_COMM_WORLD);
  COLLECTIVE(Alltoallw, -1, 24 * n, 24 * n);
  OK(Reduce, g_from, g_to, 10, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
  COLLECTIVE(Reduce, root, 40, is_root ? 40 : 0);
  OK(Allreduce, MPI_IN_PLACE, g_to, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  COLLECTIVE(Allreduce, -1, 40, 40);
  OK(Reduce_scatter, g_from, g_to, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  COLLECTIVE(Reduce_scatter, -1, all, own);
  OK(Reduce_scatter_block, g_from, g_to, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  COLLECTIVE(Reduce_scatter_block, -1, 16 * n, 16);
  OK(Scan, g_from, g_to, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  COLLECTIVE(Scan, -1, 16, 16);
  OK(Exscan, g_from, g_to, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  COLLECTIVE(Exscan, -1, 16, 16);
}

static void begun_operations(void) {
  const int n = g_size;
  MPI_Request requests[4];
  OK(Ibarrier, MPI_COMM_WORLD, &requests[0]);
  COLLECTIVE(Ibarrier, -1, 0, 0);
  OK(Ibcast, g_from, 7, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
  COLLECTIVE(Ibcast, 0, g_rank == 0 ? 28 : 0, g_rank == 0 ? 0 : 28);
  OK(Iallreduce, g_from + 100, g_to, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[2]);
  COLLECTIVE(Iallreduce, -1, 12, 12);
  OK(Ialltoall, g_from + 200, 2, MPI_INT, g_to + 200, 2, MPI_INT, MPI_COMM_WORLD, &requests[3]);
  COLLECTIVE(Ialltoall, -1, 8 * n, 8 * n);
  OK(Waitall, 4, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 4; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
  int flag = 0;
  OK(Ireduce, g_from, g_to, 3, MPI_INT, MPI_MAX, n - 1, MPI_COMM_WORLD, &requests[0]);
  COLLECTIVE(Ireduce, n - 1, 12, g_rank == n - 1 ? 12 : 0);
  while (flag == 0) OK(Test, &requests[0], &flag, MPI_STATUS_IGNORE);
}

/// Numbers behind which there is no memory.
static int* numbers(int count) {
  const long page = sysconf(_SC_PAGESIZE);
  char* memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
  return (int*)(memory + page) - count;
}

/// Between the first rank and all others.
static void operations_between_groups(void) {
  MPI_Comm own, between;
  const int is_first = g_rank == 0, beside = is_first ? 1 : g_size - 1;
  OK(Comm_split, MPI_COMM_WORLD, is_first, g_rank, &own);
  OK(Intercomm_create, own, 0, MPI_COMM_WORLD, is_first ? 1 : 0, 7, &between);
  int* counts = numbers(beside);
  for (int i = 0; i < beside; ++i) counts[i] = 12 / beside;
  OK(Reduce_scatter, g_from, g_to, counts, MPI_INT, MPI_SUM, between);
  COLLECTIVE(Reduce_scatter, -1, 48, 48 / beside);
  OK(Reduce_scatter_block, g_from, g_to, 12 / beside, MPI_INT, MPI_SUM, between);
  COLLECTIVE(Reduce_scatter_block, -1, 48, 48 / beside);
  OK(Comm_free, &between);
  OK(Comm_free, &own);
}

/// A ring of neighbours in a grid.
static void neighbours(void) {
  MPI_Comm grid;
  const int dims[1] = {g_size}, periods[1] = {1};
  OK(Cart_create, MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
  OK(Neighbor_alltoall, g_from, 3, MPI_INT, g_to, 3, MPI_INT, grid);
  COLLECTIVE(Neighbor_alltoall, -1, 24, 24);
  OK(Neighbor_allgather, g_from, 3, MPI_INT, g_to, 3, MPI_INT, grid);
  COLLECTIVE(Neighbor_allgather, -1, 12, 24);
  OK(Comm_free, &grid);
}

/// To the next in a communicator. @param base the rank in the world of its first  @param step to the next
static void pass_on(MPI_Comm comm, int base, int step, int tag) {
  int rank, size;
  OK(Comm_rank, comm, &rank);
  OK(Comm_size, comm, &size);
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  OK(Sendrecv, g_from, tag, MPI_CHAR, next, tag, g_to, 400, MPI_CHAR, last, tag, comm, MPI_STATUS_IGNORE);
  SENT(Sendrecv, base + step * next, tag, tag);
  RECEIVED(Sendrecv, base + step * last, tag, tag);
}

static void communicators(void) {
  MPI_Comm copy, reversed, half, merged, between, own, chosen;
  OK(Comm_dup, MPI_COMM_WORLD, &copy);
  OK(Comm_set_name, copy, "a copy of all");
  pass_on(copy, 0, 1, 10);
  OK(Comm_split, MPI_COMM_WORLD, 0, -g_rank, &reversed);
  pass_on(reversed, g_size - 1, -1, 11);
  OK(Comm_split, MPI_COMM_WORLD, g_rank % 2, g_rank, &half);
  pass_on(half, g_rank % 2, 2, 12);
  OK(Comm_split, MPI_COMM_WORLD, g_rank == 0 ? 0 : MPI_UNDEFINED, 0, &own);
  CHECK((own == MPI_COMM_NULL) == (g_rank != 0));
  if (own != MPI_COMM_NULL) pass_on(own, 0, 1, 13);
  // A communicator between the even and the odd ones.
  OK(Intercomm_create, half, 0, MPI_COMM_WORLD, 1 - g_rank % 2, 5, &between);
  const int there = g_rank / 2, peer = g_rank % 2 == 0 ? g_rank + 1 : g_rank - 1;
  OK(Sendrecv, g_from, 14, MPI_CHAR, there, 14, g_to, 400, MPI_CHAR, there, 14, between, MPI_STATUS_IGNORE);
  SENT(Sendrecv, peer, 14, 14);
  RECEIVED(Sendrecv, peer, 14, 14);
  OK(Intercomm_merge, between, g_rank % 2, &merged);
  OK(Barrier, merged);
  COLLECTIVE(Barrier, -1, 0, 0);
  MPI_Group group, first;
  const int zero = 0;
  OK(Comm_group, MPI_COMM_WORLD, &group);
  OK(Group_incl, group, 1, &zero, &first);
  OK(Comm_create, MPI_COMM_WORLD, first, &chosen);
  if (chosen != MPI_COMM_NULL) OK(Comm_free, &chosen);
  if (g_rank == 0) {
    OK(Comm_create_group, MPI_COMM_WORLD, first, 1, &chosen);
    pass_on(chosen, 0, 1, 15);
    OK(Comm_free, &chosen);
  }
  // Handles that are given again.
  for (int i = 0; i < 20; ++i) {
    MPI_Comm again;
    OK(Comm_dup, i % 2 == 0 ? MPI_COMM_WORLD : half, &again);
    OK(Bcast, g_from, i, MPI_CHAR, 0, again);
    int is_first = 0;
    MPI_Comm_rank(again, &is_first);
    count_call("MPI_Comm_rank");
    COLLECTIVE(Bcast, 0, is_first == 0 ? i : 0, is_first == 0 ? 0 : i);
    OK(Comm_free, &again);
  }
  MPI_Comm begun;
  MPI_Request request;
  OK(Comm_idup, half, &begun, &request);
  OK(Wait, &request, MPI_STATUS_IGNORE);
  pass_on(begun, g_rank % 2, 2, 16);
  OK(Sendrecv, g_from, 1, MPI_CHAR, 0, 1, g_to, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  SENT(Sendrecv, g_rank, 1, 1);
  RECEIVED(Sendrecv, g_rank, 1, 1);
  OK(Group_free, &first);
  OK(Group_free, &group);
  OK(Comm_free, &begun);
  OK(Comm_free, &merged);
  OK(Comm_free, &between);
  OK(Comm_free, &half);
  OK(Comm_free, &reversed);
  if (own != MPI_COMM_NULL) OK(Comm_free, &own);
  OK(Comm_free, &copy);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  OK(Init, &argc, &argv);
  OK(Comm_rank, MPI_COMM_WORLD, &g_rank);
  OK(Comm_size, MPI_COMM_WORLD, &g_size);
  open_lines(g_rank);
  if (strcmp(what, "operations") == 0) {
    world_operations();
    begun_operations();
    operations_between_groups();
    neighbours();
  }
  if (strcmp(what, "communicators") == 0) communicators();
  if (g_rank == 0) printf("%s of %d: %d\n", what, g_size, g_to[0]);
  fflush(stdout);
  OK(Finalize);
  close_lines();
  return 0;
}
