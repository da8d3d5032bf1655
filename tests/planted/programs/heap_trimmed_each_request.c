// Each request takes and frees 4 MB in small blocks, and the heap is given back to the kernel at once.
// planted: class=page-faults function=handle_request tolerance=none
// planted: environment=MALLOC_TRIM_THRESHOLD_=0,MALLOC_TOP_PAD_=0

#include "planted.h"

enum { kBlocks = 64, kSize = 65536 };

static void handle_request(int request) {
  char* blocks[kBlocks];
  // <- cause: begin
  for (int i = 0; i < kBlocks; ++i) {
    blocks[i] = (char*)malloc(kSize);
    if (blocks[i] == NULL) exit(1);
    memset(blocks[i], request, kSize);
  }
  for (int i = kBlocks - 1; i >= 0; --i) free(blocks[i]);
  // <- cause: end
}

int main(void) {
  const long long before_ns = now_ns();
  for (int request = 0; now_ns() - before_ns < 1300000000LL; ++request) handle_request(request);
  return write_truth();
}
