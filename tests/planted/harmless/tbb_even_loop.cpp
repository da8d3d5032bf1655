// A loop of TBB with the partitioner that balances it by itself.
// planted: class=none needs=oneapi/tbb.h libraries=tbb

#include <oneapi/tbb.h>

#include "planted.h"

int main() {
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
  tbb::parallel_for(0, 1200, [](int) { COMPUTE_US(2000); });
  return 0;
}
