// Threads share out a loop and meet at a barrier.
// Usage: openmp_loop late|even|tasks     of four, the third one's part needs six times as long as the others'; of two
// that compute, all parts need the same; the same as tasks, which use nothing of what is around them

#include "truth.h"

enum { kParts = 8, kRounds = 40 };

static void late(void) {
#pragma omp parallel num_threads(4)
  for (int round = 0; round < kRounds; ++round) {
#pragma omp for schedule(static) nowait
    for (int part = 0; part < kParts; ++part) rest_us(part / 2 == 2 ? 6000 : 1000);
    const long long before_ns = now_ns();
#pragma omp barrier  // the planted line
    lost_since(before_ns);
  }
}

static void even(void) {
#pragma omp parallel num_threads(2)
  for (int round = 0; round < 20; ++round) {
#pragma omp for schedule(static)
    for (int part = 0; part < 2; ++part) work_us(30000);
  }
}

static void tasks(void) {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int task = 0; task < 40; ++task) {
#pragma omp task
    work_us(15000);
  }
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "even") == 0) {
    even();
  } else if (argc > 1 && strcmp(argv[1], "tasks") == 0) {
    tasks();
  } else {
    late();
  }
  return print_truth();
}
