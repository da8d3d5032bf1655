// Four threads meet at a barrier; in each round one of them needs six times as long as the others.
// Usage: barrier late|turns        always the same thread, or each in turn

#include "truth.h"

static pthread_barrier_t barrier;
static int takes_turns;
enum { kThreads = 4, kRounds = 40 };

static void* run(void* number) {
  for (int round = 0; round < kRounds; ++round) {
    const long late = takes_turns ? round % kThreads : 2;
    rest_us((long)number == late ? 12000 : 2000);
    const long long before_ns = now_ns();
    pthread_barrier_wait(&barrier);  // the planted line
    lost_since(before_ns);
  }
  return NULL;
}

int main(int argc, char** argv) {
  takes_turns = argc > 1 && strcmp(argv[1], "turns") == 0;
  pthread_barrier_init(&barrier, NULL, kThreads);
  run_threads(kThreads, run);
  return print_truth();
}
