// One thread multiplies matrices and nothing else: the verdict is where it computes, and that one CPU is used.
// planted: class=compute-bound function=multiply tolerance=none

#include "planted.h"

enum { kSize = 320 };
static double a[kSize][kSize], b[kSize][kSize], c[kSize][kSize];

// <- cause: begin
static void multiply(void) {
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) {
      double sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
  }
}
// <- cause: end

int main(void) {
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) a[i][j] = b[j][i] = i + j;
  }
  const long long before_ns = now_ns();
  while (now_ns() - before_ns < 1500000000LL) multiply();
  return write_truth() + (c[1][1] < 0);
}
