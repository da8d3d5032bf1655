// Threads of a TBB loop keep a tbb::mutex, which sleeps when it has to wait, through a slow update.
// planted: class=lock-contention|serialisation function=UpdateModel needs=oneapi/tbb/mutex.h libraries=tbb options=-O0

#include <oneapi/tbb.h>
#include <oneapi/tbb/mutex.h>

#include "planted.h"

namespace {
tbb::mutex model_mutex;

void UpdateModel() {
  const long long before_ns = now_ns();
  const tbb::mutex::scoped_lock lock(model_mutex);  // <- cause
  lost_since(before_ns);
  rest_us(4000);
}  // <- cause
}  // namespace

int main() {
  tbb::global_control threads(tbb::global_control::max_allowed_parallelism, 2);
  tbb::parallel_for(0, 280, [](int) {
    COMPUTE_US(500);
    UpdateModel();
  });
  return write_truth();
}
