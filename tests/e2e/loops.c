// Loops of OpenMP whose iterations cost more and more, shared out as asked for at run time, and in pieces of 64.
// Usage: loops SECONDS   Prints how often it did both, the most pieces of a time, and the schedule at its end:
//   "N rounds, runtime P pieces, dynamic Q pieces, schedule K C"; a piece is iterations in a row of one thread.

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kIterations = 256, kWork = 300, kPiece = 64, kThreads = 2 };

static int thread_of[kIterations];
static volatile double sink;

static double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// The second half of the iterations has nearly all of the work.
static void work(int iteration) {
  double sum = 0;
  const int units = iteration < kIterations / 2 ? 1 : kWork;
  for (int i = 0; i < units * 10; ++i) sum += 1.0 / (1 + i);
  sink = sum;
  thread_of[iteration] = omp_get_thread_num();
}

static int pieces(void) {
  int count = 1;
  for (int i = 1; i < kIterations; ++i) count += thread_of[i] != thread_of[i - 1];
  return count;
}

int main(int argc, char** argv) {
  const double end_s = now_s() + (argc > 1 ? atof(argv[1]) : 1);
  long rounds = 0;
  int of_runtime = 0, of_dynamic = 0;
  do {
#pragma omp parallel for schedule(runtime) num_threads(kThreads)
    for (int i = 0; i < kIterations; ++i) work(i);
    if (pieces() > of_runtime) of_runtime = pieces();
#pragma omp parallel num_threads(kThreads)
    {
#pragma omp for schedule(dynamic, kPiece)
      for (int i = 0; i < kIterations; ++i) work(i);
    }
    if (pieces() > of_dynamic) of_dynamic = pieces();
    ++rounds;
  } while (now_s() < end_s);
  omp_sched_t kind;
  int chunk;
  omp_get_schedule(&kind, &chunk);
  printf("%ld rounds, runtime %d pieces, dynamic %d pieces, schedule %d %d\n", rounds, of_runtime, of_dynamic,
         (int)kind & 15, chunk);
  return 0;
}
