// A library's habit: teams of eight threads, however many CPUs there are. The result does not depend on their number.
// crowd SECONDS [CALM]: ends after this time, and prints how many sums were wrong and how wide its last team was. For
// the first CALM seconds its teams have one thread. crowd NUMBERx: that many regions, however long they take.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t Step(uint64_t value) { return value * 6364136223846793005u + 1442695040888963407u; }

static uint64_t Region(uint64_t seed, int threads) {
  uint64_t sum = 0;
#ifdef TEAM_OF_ENVIRONMENT
  (void)threads;
#pragma omp parallel for reduction(+ : sum)
#else
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
#endif
  for (uint64_t i = 0; i < 64; ++i) {
    uint64_t value = seed + i;
    for (int k = 0; k < 4000; ++k) value = Step(value);
    sum += value;
  }
  return sum;
}

int main(int argc, char** argv) {
  const char* most = argc > 1 ? strchr(argv[1], 'x') : NULL;
  const uint64_t most_regions = most != NULL ? strtoull(argv[1], NULL, 10) : UINT64_MAX;
  const double begin = Now(), end = begin + (most != NULL ? 1e9 : argc > 1 ? atof(argv[1]) : 5);
  const double calm_end = begin + (argc > 2 ? atof(argv[2]) : 0);
  uint64_t regions = 0, wrong = 0;
  const uint64_t expected = Region(1, 1);
  while (Now() < calm_end) wrong += Region(1, 1) != expected;
  fprintf(stderr, "crowd since %.6f\n", Now());
  while (regions < most_regions && Now() < end) {
    wrong += Region(1, 8) != expected;
    ++regions;
  }
  int last = 0;
#ifdef TEAM_OF_ENVIRONMENT
#pragma omp parallel
#else
#pragma omp parallel num_threads(8)
#endif
#pragma omp single
  last = omp_get_num_threads();
  printf("%llu wrong, %d threads\n", (unsigned long long)wrong, last);
  fprintf(stderr, "%llu regions\n", (unsigned long long)regions);
  return 0;
}
