// Threads meet at a barrier; in each round one of them needs several times as long as the others.
// Usage: barrier late|turns|uneven     of four that sleep always the same one, or each in turn; of two that compute one

#include "truth.h"

static pthread_barrier_t barrier;
static enum { kLate, kTurns, kUneven } kind;
enum { kThreads = 4, kRounds = 40 };

static void part_of_round(long number, int round) {
  if (kind == kUneven) {
    work_us(number == 1 ? 12000 : 3000);
  } else {
    rest_us(number == (kind == kTurns ? round % kThreads : 2) ? 12000 : 2000);
  }
}

static void* run(void* number) {
  for (int round = 0; round < kRounds; ++round) {
    part_of_round((long)number, round);
    const long long before_ns = now_ns();
    pthread_barrier_wait(&barrier);  // the planted line
    lost_since(before_ns);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "late";
  kind = strcmp(name, "turns") == 0 ? kTurns : strcmp(name, "uneven") == 0 ? kUneven : kLate;
  const int threads = kind == kUneven ? 2 : kThreads;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  run_threads(threads, run);
  return print_truth();
}
