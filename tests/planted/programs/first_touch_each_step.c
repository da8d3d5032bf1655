// A work array of 64 MB is mapped anew in each step, so that every page of it is faulted in again.
// planted: class=page-faults function=clear_array tolerance=15

#include <sys/mman.h>

#include "planted.h"

enum { kBytes = 64 << 20, kPage = 4096 };

static void clear_array(char* array) {
  for (long at = 0; at < kBytes; at += kPage) array[at] = 1;  // <- cause
}

static void step(void) {
  char* array = (char*)mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (array == MAP_FAILED) exit(1);
  madvise(array, kBytes, MADV_NOHUGEPAGE);
  long long before_ns = cpu_ns();
  clear_array(array);
  lost(cpu_ns() - before_ns);
  // Without its faults it takes as long as the second time.
  before_ns = cpu_ns();
  for (long at = 0; at < kBytes; at += kPage) array[at] = 2;
  lost(before_ns - cpu_ns());
  munmap(array, kBytes);
  COMPUTE_US(5000);
}

int main(void) {
  for (int i = 0; i < 60; ++i) step();
  return write_truth();
}
