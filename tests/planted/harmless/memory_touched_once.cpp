// A large array is made once, at the start, and then computed on.
// planted: class=none

#include <vector>

#include "planted.h"

int main() {
  std::vector<double> values(2 << 20, 1.0);
  const long long before_ns = now_ns();
  double sum = 0;
  while (now_ns() - before_ns < 1400000000LL) {
    for (double& value : values) value = value * 0.999 + 0.001;
    sum += values[1234];
  }
  return sum < 0;
}
