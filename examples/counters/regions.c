// Two regions of a program with counters: rows of a matrix, and columns of it, by several threads. regions [THREADS
// [EVENTS]]
//
//   cc -std=c11 -O2 -pthread regions.c -lattune_counters
#include <attune/counters.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kSize = 1024, kRounds = 4 };

static attune_counters* main_counters;
static int by_rows, by_columns;
static double matrix[kSize][kSize];

static double SumOf(int is_by_rows) {
  double sum = 0;
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) sum += is_by_rows ? matrix[i][j] : matrix[j][i];
  }
  return sum;
}

static void* Work(void* result) {
  attune_counters* counters = attune_counters_clone(main_counters);
  if (counters == NULL) return NULL;
  double sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    attune_counters_begin(counters, by_rows);
    sum += SumOf(1);
    attune_counters_end(counters);
    attune_counters_begin(counters, by_columns);
    sum += SumOf(0);
    attune_counters_end(counters);
  }
  attune_counters_close(counters);
  *(double*)result = sum;
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 2;
  main_counters = attune_counters_open(argc > 2 ? argv[2] : "task-clock:u,page-faults:u,@ipc");
  if (main_counters == NULL) main_counters = attune_counters_open("task-clock:u,page-faults:u");
  if (main_counters == NULL || threads < 1 || threads > 64) {
    fprintf(stderr, "regions: %s\n", attune_counters_error());
    return 1;
  }
  by_rows = attune_counters_region(main_counters, "by rows");
  by_columns = attune_counters_region(main_counters, "by columns");
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) matrix[i][j] = 1;
  }
  pthread_t ids[64];
  double sums[64] = {0}, sum = 0;
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&ids[i], NULL, Work, &sums[i]) != 0) return 1;
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(ids[i], NULL);
    sum += sums[i];
  }
  attune_counters_print(main_counters, stderr);
  attune_counters_close(main_counters);
  printf("%.0f\n", sum / (2.0 * kRounds * threads * kSize * kSize));
  return 0;
}
