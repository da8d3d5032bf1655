// A loop does nearly all of its work in the ordered part, where one iteration waits for the one before.
// planted: class=serialisation|serial-section function=write_frames options=-fopenmp compilers=gcc,clang
// planted: environment=OMP_NUM_THREADS=2

#include <omp.h>

#include "planted.h"

static void write_frames(int frames) {
#pragma omp parallel for ordered schedule(static, 1)
  for (int frame = 0; frame < frames; ++frame) {
    COMPUTE_US(300);
    const long long before_ns = now_ns();
#pragma omp ordered  // <- cause
    {
      lost_since(before_ns);  // <- cause
      COMPUTE_US(4000);       // <- cause
    }
  }
}

int main(void) {
  write_frames(250);
  return write_truth();
}
