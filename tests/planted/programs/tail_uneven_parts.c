// Two threads get parts of a list of which one is three times as long; main joins both.
// planted: class=tail-imbalance function=process_part

#include "planted.h"

static long long end_ns[2];

static void process_part(long part) {
  COMPUTE_US(part == 0 ? 1200000 : 400000);  // <- cause
}

static void* run_part(void* part) {
  process_part((long)part);
  end_ns[(long)part] = now_ns();
  return NULL;
}

int main(void) {
  run_threads(2, run_part);
  lost(end_ns[0] - end_ns[1]);
  return write_truth();
}
