// Two threads allocate and free blocks of changing sizes from the only arena that the environment allows.
// planted: class=allocator-contention function=churn_blocks tolerance=none
// planted: environment=MALLOC_ARENA_MAX=1,GLIBC_TUNABLES=glibc.malloc.tcache_count=0

#include "planted.h"

enum { kBlocks = 256 };

static void churn_blocks(unsigned seed) {
  void* blocks[kBlocks] = {NULL};
  // <- cause: begin
  for (int i = 0; i < 3000000; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const unsigned at = seed >> 24;
    free(blocks[at]);
    blocks[at] = malloc(64 + (seed >> 8) % 2000);
  }
  // <- cause: end
  for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
}

static void* run_thread(void* number) {
  churn_blocks((unsigned)(long)number + 1);
  return NULL;
}

int main(void) {
  run_threads(2, run_thread);
  return write_truth();
}
