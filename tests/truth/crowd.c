// Eight threads compute; the test gives them two CPUs at most. How long each waited for one the kernel says at its end.

#include "truth.h"

/// How long the calling thread waited for a CPU so far, as the kernel says.
static long long queued_ns(void) {
  char text[128] = "";
  FILE* file = fopen("/proc/thread-self/schedstat", "r");
  if (file == NULL || fgets(text, sizeof text, file) == NULL) exit(1);
  fclose(file);
  long long run_ns, queue_ns;
  if (sscanf(text, "%lld %lld", &run_ns, &queue_ns) != 2) exit(1);
  return queue_ns;
}

static void* run(void* nothing) {
  work_us(300000);
  atomic_fetch_add(&lost_ns, queued_ns());
  return nothing;
}

int main(void) {
  run_threads(8, run);
  return print_truth();
}
