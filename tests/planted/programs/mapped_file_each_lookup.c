// A file of 32 MB is mapped for each look-up and unmapped after it, and its pages are faulted in one by one.
// planted: class=page-faults function=sum_file tolerance=none options=-O0

#include <sys/mman.h>

#include "planted.h"

enum { kBytes = 32 << 20 };
static unsigned long total;

static void sum_file(int file) {
  unsigned char* bytes = (unsigned char*)mmap(NULL, kBytes, PROT_READ, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) exit(1);
  madvise(bytes, kBytes, MADV_RANDOM);
  for (long at = 0; at < kBytes; at += 4096) total += bytes[at];  // <- cause
  munmap(bytes, kBytes);
}

int main(void) {
  char name[] = "/tmp/planted-map-XXXXXX";
  static char block[1 << 20];
  const int file = mkstemp(name);
  if (file < 0) return 1;
  unlink(name);
  for (int i = 0; i < kBytes >> 20; ++i) {
    if (write(file, block, sizeof block) != sizeof block) return 1;
  }
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1300000000LL) sum_file(file);
  return write_truth() + (total != 0);
}
