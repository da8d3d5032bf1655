// What a program of MPI is known to do, said by itself: lines in a file a rank, which the test compares with what was
// recorded.
//
//   sent FUNCTION PEER TAG BYTES         peer: rank in MPI_COMM_WORLD
//   received FUNCTION PEER TAG BYTES
//   collective FUNCTION ROOT BYTES_SENT BYTES_RECEIVED
//   calls FUNCTION COUNT

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE* g_lines;
static struct {
  const char* name;
  long count;
} g_calls[400];
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

static void count_call(const char* name) {
  pthread_mutex_lock(&g_lock);
  int i = 0;
  while (g_calls[i].name != NULL && strcmp(g_calls[i].name, name) != 0) ++i;
  g_calls[i].name = name;
  ++g_calls[i].count;
  pthread_mutex_unlock(&g_lock);
}

/// Every call of MPI is made through this.
#define CALL(name, ...) (count_call("MPI_" #name), MPI_##name(__VA_ARGS__))

static void check(int is_so, const char* what, int line) {
  if (is_so) return;
  fprintf(stderr, "line %d: not %s\n", line, what);
  exit(90);
}
#define CHECK(condition) check(condition, #condition, __LINE__)
#define OK(name, ...) CHECK(CALL(name, __VA_ARGS__) == MPI_SUCCESS)

static void open_lines(int rank) {
  const char* folder = getenv("MPI_LINES");
  char path[512];
  snprintf(path, sizeof path, "%s/%d", folder != NULL ? folder : "/dev/null", rank);
  g_lines = folder != NULL ? fopen(path, "w") : fopen("/dev/null", "w");
  CHECK(g_lines != NULL);
}

#define SENT(function, peer, tag, bytes) \
  fprintf(g_lines, "sent MPI_%s %d %d %ld\n", #function, (int)(peer), (int)(tag), (long)(bytes))
#define RECEIVED(function, peer, tag, bytes) \
  fprintf(g_lines, "received MPI_%s %d %d %ld\n", #function, (int)(peer), (int)(tag), (long)(bytes))
#define COLLECTIVE(function, root, sent, received) \
  fprintf(g_lines, "collective MPI_%s %d %ld %ld\n", #function, (int)(root), (long)(sent), (long)(received))

static void close_lines(void) {
  for (int i = 0; g_calls[i].name != NULL; ++i) fprintf(g_lines, "calls %s %ld\n", g_calls[i].name, g_calls[i].count);
  fclose(g_lines);
}
