// Does the same work on each of two CPUs in turn, a fifth of a second at a time, and prints how much of it a second of
// the clock was done on each. Usage: kinds_work TURNS
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kTurnMs = 200, kRounds = 20000 };

static double NowMs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

static void Loop(void) {
  unsigned long rounds = kRounds;
#if defined(__aarch64__)
  __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#else
  __asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
#endif
}

int main(int argc, char** argv) {
  const int turns = argc > 1 ? atoi(argv[1]) : 20;
  double loops[2] = {0}, ms[2] = {0};
  for (int turn = 0; turn < turns; ++turn) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(turn % 2, &only);
    if (sched_setaffinity(0, sizeof only, &only) != 0) perror("sched_setaffinity");
    const double begin = NowMs();
    double now = begin;
    while (now < begin + kTurnMs) {
      Loop();
      ++loops[turn % 2];
      now = NowMs();
    }
    ms[turn % 2] += now - begin;
  }
  printf("loops a ms: %.4f %.4f\n", loops[0] / ms[0], loops[1] / ms[1]);
  return 0;
}
