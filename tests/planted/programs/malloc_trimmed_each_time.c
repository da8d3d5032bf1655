// A buffer of 8 MB is allocated and freed for each picture, and the allocator gives it back to the kernel each time.
// planted: class=page-faults function=decode_picture tolerance=none environment=MALLOC_MMAP_THRESHOLD_=131072

#include "planted.h"

enum { kBytes = 8 << 20 };
static unsigned long sum;

static void decode_picture(int picture) {
  unsigned char* pixels = (unsigned char*)malloc(kBytes);
  if (pixels == NULL) exit(1);
  memset(pixels, picture, kBytes);  // <- cause
  for (int i = 0; i < kBytes; i += 4096) sum += pixels[i];
  free(pixels);
}

int main(void) {
  const long long before_ns = now_ns();
  for (int picture = 0; now_ns() - before_ns < 1300000000LL; ++picture) decode_picture(picture);
  return write_truth() + (sum == 1);
}
