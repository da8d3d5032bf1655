// Messages between two ranks, in each way that MPI has, of which the program says what they are.

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "expect.h"

enum { kLarge = 300000, kMany = 200 };
static char g_from[kLarge];
static char g_to[kLarge];
static int g_rank, g_size, g_other;

static void barrier(void) {
  OK(Barrier, MPI_COMM_WORLD);
  COLLECTIVE(Barrier, -1, 0, 0);
}

static void send(int bytes, int tag) {
  OK(Send, g_from, bytes, MPI_CHAR, g_other, tag, MPI_COMM_WORLD);
  SENT(Send, g_other, tag, bytes);
}

static void receive(int bytes, int tag) {
  OK(Recv, g_to, kLarge, MPI_CHAR, g_other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  RECEIVED(Recv, g_other, tag, bytes);
}

/// Small messages, each answered at once, but one that is answered late.
static void quick(void) {
  enum { kTimes = 400, kLate = 300 };
  for (int i = 0; i < kTimes; ++i) {
    if (g_rank == 0) MPI_Send(g_from, 8, MPI_CHAR, 1, i, MPI_COMM_WORLD);
    MPI_Recv(g_to, 8, MPI_CHAR, 1 - g_rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (g_rank == 1 && i == kLate) usleep(30000);
    if (g_rank == 1) MPI_Send(g_from, 8, MPI_CHAR, 0, i, MPI_COMM_WORLD);
  }
  for (int i = 0; i < kTimes; ++i) {
    SENT(Send, 1 - g_rank, i, 8);
    RECEIVED(Recv, 1 - g_rank, i, 8);
    count_call("MPI_Send");
    count_call("MPI_Recv");
  }
}

/// Late messages: for those but the last the receiver asks all the time, between its questions for that one it works.
static void polled(void) {
  enum { kLast = 9 };
  // It keeps its CPU beside whatever else runs. Who may not has eight tries.
  if (g_rank == 1) setpriority(PRIO_PROCESS, 0, -20);
  for (int tag = 1; tag <= kLast; ++tag) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request request;
    if (g_rank == 0) usleep(30000);
    if (g_rank == 0) MPI_Isend(g_from, 8, MPI_CHAR, 1, tag, MPI_COMM_WORLD, &request);
    if (g_rank == 1) MPI_Irecv(g_to, 8, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &request);
    for (int is_there = 0; !is_there;) {
      MPI_Test(&request, &is_there, MPI_STATUS_IGNORE);
      if (tag == kLast) usleep(2000);
    }
  }
}

static void blocking(void) {
  for (int i = 0; i < 100; ++i) {
    if (g_rank == 0) send(8, i);
    receive(8, i);
    if (g_rank == 1) send(8, i);
  }
  if (g_rank == 0) {
    static char room[kLarge];
    OK(Buffer_attach, room, kLarge);
    OK(Bsend, g_from, 100, MPI_INT, 1, 1, MPI_COMM_WORLD);
    SENT(Bsend, 1, 1, 400);
    OK(Ssend, g_from, kLarge, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    SENT(Ssend, 1, 2, kLarge);
    barrier();
    OK(Rsend, g_from, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    SENT(Rsend, 1, 3, 0);
    void* detached;
    int bytes;
    OK(Buffer_detach, &detached, &bytes);
    OK(Send, g_from, 5, MPI_CHAR, MPI_PROC_NULL, 4, MPI_COMM_WORLD);
    OK(Recv, g_to, 5, MPI_CHAR, MPI_PROC_NULL, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Status status;
    OK(Recv, g_to, kLarge, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == 1);
    RECEIVED(Recv, 0, 1, 400);
    OK(Recv, g_to, kLarge, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    RECEIVED(Recv, 0, 2, kLarge);
    MPI_Request request;
    OK(Irecv, g_to, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    barrier();
    OK(Wait, &request, MPI_STATUS_IGNORE);
    CHECK(request == MPI_REQUEST_NULL);
    RECEIVED(Irecv, 0, 3, 0);
  }
}

/// @param how which of the functions completes them
static void complete(int how, int count, MPI_Request* requests) {
  static MPI_Status statuses[kMany];
  static int indices[kMany];
  MPI_Status* where = how % 2 == 0 ? statuses : MPI_STATUSES_IGNORE;
  int left = count, flag = 0, index = 0, some = 0;
  if (how < 2) {
    OK(Waitall, count, requests, where);
    return;
  }
  if (how < 4) {
    while (flag == 0) OK(Testall, count, requests, &flag, where);
    return;
  }
  if (how == 12) {
    for (int i = 0; i < count; ++i) OK(Wait, &requests[i], MPI_STATUS_IGNORE);
    return;
  }
  if (how == 13) {
    for (int i = 0; i < count; ++i) {
      for (flag = 0; flag == 0;) OK(Test, &requests[i], &flag, MPI_STATUS_IGNORE);
    }
    return;
  }
  while (left > 0) {
    flag = 1;
    some = 1;
    if (how < 6) OK(Waitany, count, requests, &index, how % 2 == 0 ? statuses : MPI_STATUS_IGNORE);
    if (how >= 6 && how < 8) OK(Testany, count, requests, &index, &flag, how % 2 == 0 ? statuses : MPI_STATUS_IGNORE);
    if (how >= 8 && how < 10) OK(Waitsome, count, requests, &some, indices, where);
    if (how >= 10 && how < 12) OK(Testsome, count, requests, &some, indices, where);
    if (flag != 0) left -= some;
  }
}

static void nonblocking(void) {
  static MPI_Request requests[kMany];
  for (int how = 0; how < 14; ++how) {
    const int count = how < 4 ? kMany : 7;
    for (int i = 0; i < count; ++i) {
      const int bytes = i == 5 ? kLarge : i;
      if (g_rank == 0) {
        if (i % 3 == 0) OK(Isend, g_from, bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
        if (i % 3 == 1) OK(Issend, g_from, bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
        if (i % 3 == 2) OK(Isend, g_from, bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
        if (i % 3 == 1)
          SENT(Issend, 1, i, bytes);
        else
          SENT(Isend, 1, i, bytes);
      } else {
        const int source = i % 2 == 0 ? 0 : MPI_ANY_SOURCE;
        OK(Irecv, g_to, kLarge, MPI_CHAR, source, i, MPI_COMM_WORLD, &requests[i]);
        RECEIVED(Irecv, 0, i, bytes);
      }
    }
    complete(how, count, requests);
    for (int i = 0; i < count; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    barrier();
  }
  // What is freed, or was begun with nobody.
  MPI_Request request;
  if (g_rank == 0) {
    OK(Isend, g_from, 33, MPI_CHAR, 1, 9, MPI_COMM_WORLD, &request);
    SENT(Isend, 1, 9, 33);
    if (request != MPI_REQUEST_NULL) OK(Request_free, &request);
    OK(Isend, g_from, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    OK(Wait, &request, MPI_STATUS_IGNORE);
  } else {
    receive(33, 9);
    OK(Irecv, g_to, 1, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    OK(Wait, &request, MPI_STATUS_IGNORE);
  }
  OK(Wait, &request, MPI_STATUS_IGNORE);  // of nothing
}

static void persistent(void) {
  MPI_Request requests[3];
  if (g_rank == 0) {
    OK(Send_init, g_from, 10, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[0]);
    OK(Ssend_init, g_from, 20, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[1]);
    OK(Send_init, g_from, 5, MPI_CHAR, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &requests[2]);
  } else {
    OK(Recv_init, g_to, 100, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[0]);
    OK(Recv_init, g_to + 100, 100, MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    OK(Recv_init, g_to + 200, 5, MPI_CHAR, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &requests[2]);
  }
  for (int i = 0; i < 10; ++i) {
    OK(Start, &requests[0]);
    OK(Wait, &requests[0], MPI_STATUS_IGNORE);
    OK(Wait, &requests[0], MPI_STATUS_IGNORE);  // it is not active any more
    if (g_rank == 0)
      SENT(Start, 1, 1, 10);
    else
      RECEIVED(Start, 0, 1, 10);
    barrier();
  }
  for (int i = 0; i < 10; ++i) {
    OK(Startall, 3, requests);
    OK(Waitall, 3, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < 2; ++k) {
      if (g_rank == 0)
        SENT(Startall, 1, 1 + k, 10 + 10 * k);
      else
        RECEIVED(Startall, 0, 1 + k, 10 + 10 * k);
    }
    barrier();
  }
  for (int i = 0; i < 3; ++i) OK(Request_free, &requests[i]);
}

/// Among any number of ranks.
static void exchange(void) {
  const int left = (g_rank + g_size - 1) % g_size, right = (g_rank + 1) % g_size;
  const int before = g_rank > 0 ? g_rank - 1 : MPI_PROC_NULL, behind = g_rank + 1 < g_size ? g_rank + 1 : MPI_PROC_NULL;
  MPI_Status status;
  for (int i = 0; i < 20; ++i) {
    OK(Sendrecv, g_from, 10 + g_rank, MPI_INT, right, i, g_to, kLarge, MPI_CHAR, left, i, MPI_COMM_WORLD,
       i % 2 == 0 ? &status : MPI_STATUS_IGNORE);
    SENT(Sendrecv, right, i, 4 * (10 + g_rank));
    RECEIVED(Sendrecv, left, i, 4 * (10 + left));
    OK(Sendrecv_replace, g_from, 7, MPI_CHAR, behind, 5, before, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (behind != MPI_PROC_NULL) SENT(Sendrecv_replace, behind, 5, 7);
    if (before != MPI_PROC_NULL) RECEIVED(Sendrecv_replace, before, 5, 7);
  }
}

static void probes(void) {
  MPI_Status status;
  MPI_Message message;
  MPI_Request request;
  int flag = 0, count = 0;
  if (g_rank == 0) {
    for (int i = 0; i < 4; ++i) send(50 + i, i);
    return;
  }
  OK(Probe, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
  OK(Get_count, &status, MPI_CHAR, &count);
  CHECK(count == 50);
  receive(50, 0);
  while (flag == 0) OK(Iprobe, 0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  receive(51, 1);
  OK(Mprobe, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
  OK(Mrecv, g_to, kLarge, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  RECEIVED(Mrecv, 0, 2, 52);
  for (flag = 0; flag == 0;) OK(Improbe, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
  OK(Imrecv, g_to, kLarge, MPI_CHAR, &message, &request);
  OK(Wait, &request, MPI_STATUS_IGNORE);
  RECEIVED(Imrecv, 0, 3, 53);
}

static int class_of(int error) {
  int error_class = 0;
  OK(Error_class, error, &error_class);
  return error_class;
}

/// Messages that are longer than there is room take part in the matching all the same.
static void errors(void) {
  OK(Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Request request;
  if (g_rank == 0) {
    send(100, 1);
    send(100, 2);
    send(7, 3);
    CHECK(class_of(CALL(Send, g_from, 1, MPI_CHAR, 77, 1, MPI_COMM_WORLD)) == MPI_ERR_RANK);
    CHECK(class_of(CALL(Isend, g_from, 1, MPI_CHAR, 77, 1, MPI_COMM_WORLD, &request)) == MPI_ERR_RANK);
    return;
  }
  MPI_Status status;
  CHECK(class_of(CALL(Recv, g_to, 10, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status)) == MPI_ERR_TRUNCATE);
  int count = 0;
  OK(Get_count, &status, MPI_CHAR, &count);
  RECEIVED(Recv, 0, 1, count);
  OK(Irecv, g_to, 10, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request);
  CHECK(class_of(CALL(Wait, &request, &status)) == MPI_ERR_TRUNCATE);
  OK(Get_count, &status, MPI_CHAR, &count);
  RECEIVED(Irecv, 0, 2, count);
  receive(7, 3);
}

static void cancelled(void) {
  MPI_Request request;
  MPI_Status status;
  int flag = 0;
  OK(Irecv, g_to, 10, MPI_CHAR, g_other, 99, MPI_COMM_WORLD, &request);
  OK(Cancel, &request);
  OK(Wait, &request, &status);
  OK(Test_cancelled, &status, &flag);
  CHECK(flag != 0);
  OK(Irecv, g_to, 10, MPI_CHAR, g_other, 99, MPI_COMM_WORLD, &request);
  OK(Cancel, &request);
  OK(Wait, &request, MPI_STATUS_IGNORE);
  if (g_rank == 0) send(3, 1);
  if (g_rank == 1) receive(3, 1);
}

static void types(void) {
  MPI_Datatype column, pair_column;
  OK(Type_vector, 10, 2, 8, MPI_DOUBLE, &column);
  OK(Type_commit, &column);
  OK(Type_contiguous, 3, MPI_DOUBLE_INT, &pair_column);
  OK(Type_commit, &pair_column);
  for (int i = 0; i < 5; ++i) {
    if (g_rank == 0) {
      OK(Send, g_from, 2, column, 1, i, MPI_COMM_WORLD);
      SENT(Send, 1, i, 320);
      OK(Send, g_from, 1, pair_column, 1, i, MPI_COMM_WORLD);
      SENT(Send, 1, i, 36);
    } else {
      receive(320, i);
      OK(Recv, g_to, 1, pair_column, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      RECEIVED(Recv, 0, i, 36);
    }
    // Another type may get the same handle.
    OK(Type_free, &column);
    OK(Type_vector, 10, 2, 8, MPI_DOUBLE, &column);
    OK(Type_commit, &column);
  }
  OK(Type_free, &column);
  OK(Type_contiguous, 11, MPI_CHAR, &column);
  OK(Type_commit, &column);
  if (g_rank == 0) {
    OK(Send, g_from, 3, column, 1, 0, MPI_COMM_WORLD);
    SENT(Send, 1, 0, 33);
  } else {
    receive(33, 0);
  }
  OK(Type_free, &column);
  OK(Type_free, &pair_column);
}

static void* exchange_in_thread(void* argument) {
  const int thread = *(int*)argument;
  char own[64];
  for (int i = 0; i < 200; ++i) {
    const int tag = thread * 1000 + i;
    MPI_Request requests[2];
    OK(Isend, g_from, thread + 1, MPI_CHAR, g_other, tag, MPI_COMM_WORLD, &requests[0]);
    OK(Irecv, own, 64, MPI_CHAR, g_other, tag, MPI_COMM_WORLD, &requests[1]);
    OK(Waitall, 2, requests, MPI_STATUSES_IGNORE);
    if (g_rank == 0) OK(Send, g_from, 2 * thread, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
    if (g_rank == 1) OK(Recv, own, 64, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return NULL;
}

static void threads(void) {
  pthread_t threads[4];
  int numbers[4];
  for (int i = 0; i < 4; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, &exchange_in_thread, &numbers[i]);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int thread = 0; thread < 4; ++thread) {
    for (int i = 0; i < 200; ++i) {
      const int tag = thread * 1000 + i;
      SENT(Isend, g_other, tag, thread + 1);
      RECEIVED(Irecv, g_other, tag, thread + 1);
      if (g_rank == 0)
        SENT(Send, 1, tag, 2 * thread);
      else
        RECEIVED(Recv, 0, tag, 2 * thread);
    }
  }
}

/// Until all ranks have said what they do, without a call that they would have to say.
static void wait_for_lines(void) {
  const char* folder = getenv("MPI_LINES");
  char path[512];
  if (folder == NULL) return;
  snprintf(path, sizeof path, "%s/done%d", folder, g_rank);
  fclose(fopen(path, "w"));
  for (int i = 0; i < g_size; ++i) {
    snprintf(path, sizeof path, "%s/done%d", folder, i);
    while (access(path, F_OK) != 0) usleep(1000);
  }
}

/// Ends without MPI_Finalize. @param how by which way
static void end_early(const char* how) {
  for (int i = 0; i < 10; ++i) {
    if (g_rank == 0) send(8, i);
    if (g_rank == 1) receive(8, i);
  }
  barrier();
  close_lines();
  wait_for_lines();
  if (strcmp(how, "aborts") == 0 && g_rank == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(how, "aborts") == 0) pause();
  if (strcmp(how, "killed") == 0 && g_rank == 1) kill(getpid(), SIGKILL);
  if (strcmp(how, "killed") == 0) pause();
  _exit(0);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "threads") == 0) {
    int provided = 0;
    OK(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
  } else {
    OK(Init, &argc, &argv);
  }
  OK(Comm_rank, MPI_COMM_WORLD, &g_rank);
  OK(Comm_size, MPI_COMM_WORLD, &g_size);
  g_other = 1 - g_rank;
  open_lines(g_rank);
  if (strcmp(what, "quick") == 0) quick();
  if (strcmp(what, "polled") == 0) polled();
  if (strcmp(what, "blocking") == 0) blocking();
  if (strcmp(what, "nonblocking") == 0) nonblocking();
  if (strcmp(what, "persistent") == 0) persistent();
  if (strcmp(what, "exchange") == 0) exchange();
  if (strcmp(what, "probes") == 0) probes();
  if (strcmp(what, "errors") == 0) errors();
  if (strcmp(what, "cancelled") == 0) cancelled();
  if (strcmp(what, "types") == 0) types();
  if (strcmp(what, "threads") == 0) threads();
  if (strcmp(what, "aborts") == 0 || strcmp(what, "killed") == 0 || strcmp(what, "leaves") == 0) end_early(what);
  if (g_rank == 0) printf("%s of %d\n", what, g_size);
  fflush(stdout);
  OK(Finalize);
  close_lines();
  if (strcmp(what, "exchange") != 0) return 0;
  wait_for_lines();  // who ends so ends the others
  return 3;
}
