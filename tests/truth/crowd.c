// Eight threads compute, on two CPUs at most. "turns": each for itself, which costs nothing; "spinning": they wait for
// each other in a loop, and those with work have no CPU meanwhile.

#include <string.h>

#include "truth.h"

enum { kThreads = 8 };
static atomic_int arrived, phase;

static void meet(void) {
  const int own_phase = atomic_load(&phase);
  if (atomic_fetch_add(&arrived, 1) == kThreads - 1) {
    atomic_store(&arrived, 0);
    atomic_fetch_add(&phase, 1);
    return;
  }
  while (atomic_load(&phase) == own_phase) {
  }
}

static void* take_turns(void* nothing) {
  work_us(300000);
  return nothing;
}

static void* spin(void* nothing) {
  for (int i = 0; i < 30; ++i) {
    work_us(3000);
    meet();
  }
  return nothing;
}

int main(int argc, char** argv) {
  run_threads(kThreads, argc > 1 && strcmp(argv[1], "spinning") == 0 ? spin : take_turns);
  return print_truth();
}
