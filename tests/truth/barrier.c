// Threads meet at a barrier; in each round one of them needs several times as long as the others.
// It also says how long they waited for a CPU: "queued_ns 1234".
// Usage: barrier late|turns|uneven     of four that sleep always the same one, or each in turn; of two that compute one

#include "truth.h"

static pthread_barrier_t barrier;
static atomic_llong all_queued_ns;
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
  atomic_fetch_add(&all_queued_ns, queued_ns());
  return NULL;
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "late";
  kind = strcmp(name, "turns") == 0 ? kTurns : strcmp(name, "uneven") == 0 ? kUneven : kLate;
  const int threads = kind == kUneven ? 2 : kThreads;
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  run_threads(threads, run);
  print_truth();
  printf("queued_ns %lld\n", (long long)atomic_load(&all_queued_ns));
  return 0;
}
