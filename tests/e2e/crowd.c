// A library's habit: teams of eight threads, however many CPUs there are. The result does not depend on their number.
// crowd SECONDS: ends after this time, and prints how many sums were wrong and how wide its last team was.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t Step(uint64_t value) { return value * 6364136223846793005u + 1442695040888963407u; }

static uint64_t Region(uint64_t seed) {
  uint64_t sum = 0;
#pragma omp parallel for num_threads(8) reduction(+ : sum)
  for (uint64_t i = 0; i < 64; ++i) {
    uint64_t value = seed + i;
    for (int k = 0; k < 4000; ++k) value = Step(value);
    sum += value;
  }
  return sum;
}

int main(int argc, char** argv) {
  const double end = Now() + (argc > 1 ? atof(argv[1]) : 5);
  uint64_t regions = 0, wrong = 0;
  const uint64_t expected = Region(1);
  while (Now() < end) {
    wrong += Region(1) != expected;
    ++regions;
  }
  int last = 0;
#pragma omp parallel num_threads(8)
#pragma omp single
  last = omp_get_num_threads();
  printf("%llu wrong, %d threads\n", (unsigned long long)wrong, last);
  fprintf(stderr, "%llu regions\n", (unsigned long long)regions);
  return 0;
}
