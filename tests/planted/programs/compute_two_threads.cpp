// Two threads hash blocks from the first moment to the last: all CPUs compute, and the verdict says where.
// planted: class=compute-bound function=HashBlock|HashBlocks tolerance=none

#include <thread>

#include "planted.h"

namespace {
// <- cause: begin
unsigned long HashBlock(unsigned long seed) {
  for (int i = 0; i < 100000; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
  }
  return seed;
}
// <- cause: end

void HashBlocks(unsigned long seed) {
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1400000000LL) seed = HashBlock(seed);
  if (seed == 0) std::abort();
}
}  // namespace

int main() {
  std::thread first(HashBlocks, 1), second(HashBlocks, 2);
  first.join();
  second.join();
  return write_truth();
}
