// Every iteration of a TBB loop adds its result under one tbb::queuing_mutex, with most of its work inside.
// planted: class=busy-wait|lock-contention function=AddResult needs=oneapi/tbb.h libraries=tbb

#include <oneapi/tbb.h>

#include "planted.h"

namespace {
tbb::queuing_mutex result_mutex;
double result = 0;

void AddResult(double value) {
  const long long before_ns = cpu_ns();
  const tbb::queuing_mutex::scoped_lock lock(result_mutex);  // <- cause
  lost(cpu_ns() - before_ns);
  COMPUTE_US(3000);
  result += value;
}
}  // namespace

int main() {
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
  tbb::parallel_for(0, 400, [](int i) {
    COMPUTE_US(500);
    AddResult(i);
  });
  return write_truth();
}
