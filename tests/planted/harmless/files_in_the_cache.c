// A file of 4 MB is written once and read again and again in large blocks, from memory.
// planted: class=none

#include "planted.h"

static char block[1 << 20];

int main(void) {
  char name[] = "/tmp/planted-cached-XXXXXX";
  long sum = 0;
  const int file = mkstemp(name);
  if (file < 0) return 1;
  unlink(name);
  for (int i = 0; i < 4; ++i) {
    if (write(file, block, sizeof block) != sizeof block) return 1;
  }
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 4; ++i) {
      if (pread(file, block, sizeof block, (off_t)i << 20) != sizeof block) return 1;
      for (unsigned at = 0; at < sizeof block; ++at) sum += block[at];
    }
  }
  return sum != 0;
}
