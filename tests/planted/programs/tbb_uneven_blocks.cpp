// A loop of TBB is cut into two blocks by its grain, and the second block has all the long iterations.
// planted: class=tail-imbalance|load-imbalance function=ProcessBlock|operator() needs=oneapi/tbb.h libraries=tbb
// planted: tolerance=none

#include <oneapi/tbb.h>

#include "planted.h"

namespace {
void ProcessBlock(const tbb::blocked_range<int>& block) {
  for (int i = block.begin(); i < block.end(); ++i) COMPUTE_US(i < 50 ? 200 : 1000);  // <- cause
}
}  // namespace

int main() {
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
  for (int step = 0; step < 20; ++step)
    tbb::parallel_for(
        tbb::blocked_range<int>(0, 100, 50), [](const tbb::blocked_range<int>& block) { ProcessBlock(block); },
        tbb::simple_partitioner());
  return write_truth();
}
