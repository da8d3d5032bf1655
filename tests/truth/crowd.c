// Eight threads compute; the test gives them two CPUs at most. How long each waited for one the kernel says at its end.

#include "truth.h"

static void* run(void* nothing) {
  work_us(300000);
  atomic_fetch_add(&lost_ns, queued_ns());
  return nothing;
}

int main(void) {
  run_threads(8, run);
  return print_truth();
}
