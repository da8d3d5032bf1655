// A program with a knob of its own: each batch has a cost of its own, so that larger ones are faster.
// own_knob SECONDS: prints whether the batch was always within its limits, and its size at the end.
#include <attune/knob.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  static int64_t batch = 16;
  attune_knob("queue.batch", &batch, 1, 256, "items", ATTUNE_AT_SAFE_POINTS);
  const double end = Now() + (argc > 1 ? atof(argv[1]) : 5);
  uint64_t state = 1, items = 0, wrong = 0;
  while (Now() < end) {
    attune_safe_point();
    const int64_t now = batch;
    wrong += now < 1 || now > 256;
    for (int i = 0; i < 100; ++i) (void)getppid();
    for (int64_t item = 0; item < now; ++item) {
      for (int k = 0; k < 1000; ++k) state = state * 6364136223846793005u + 1442695040888963407u;
      if (++items % 64 != 0) continue;
      ATTUNE_INSTANT("items");
      ATTUNE_COUNTER("done", (int64_t)items);
    }
    wrong += now != batch;
  }
  printf("%llu wrong, batch %lld%s\n", (unsigned long long)wrong, (long long)batch, state == 0 ? "!" : "");
  fprintf(stderr, "%llu items\n", (unsigned long long)items);
  return 0;
}
