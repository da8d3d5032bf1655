// Four threads share out a loop whose fifth and sixth part need six times as long as the others: always the third
// thread's.

#include "truth.h"

enum { kParts = 8, kRounds = 40 };

int main(void) {
#pragma omp parallel num_threads(4)
  for (int round = 0; round < kRounds; ++round) {
#pragma omp for schedule(static) nowait
    for (int part = 0; part < kParts; ++part) rest_us(part / 2 == 2 ? 6000 : 1000);
    const long long before_ns = now_ns();
#pragma omp barrier  // the planted line
    lost_since(before_ns);
  }
  return print_truth();
}
