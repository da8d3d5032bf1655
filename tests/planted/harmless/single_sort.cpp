// One thread makes numbers and sorts them.
// planted: class=none

#include <algorithm>
#include <vector>

#include "planted.h"

int main() {
  std::vector<unsigned> numbers(1 << 20);
  const long long before_ns = now_ns();
  for (unsigned seed = 1; now_ns() - before_ns < 1300000000LL; ++seed) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<unsigned>(i) * 2654435761U * seed;
    std::sort(numbers.begin(), numbers.end());
  }
  return std::is_sorted(numbers.begin(), numbers.end()) ? 0 : 1;
}
