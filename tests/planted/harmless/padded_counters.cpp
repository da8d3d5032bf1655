// Each thread counts in a counter that has a cache line for itself.
// planted: class=none

#include <thread>

#include "planted.h"

namespace {
struct alignas(128) Counter {
  volatile long value = 0;
};
Counter counters[2];

void Count(Counter& counter) {
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 20000; ++i) counter.value = counter.value + 1;
  }
}
}  // namespace

int main() {
  std::thread first(Count, std::ref(counters[0])), second(Count, std::ref(counters[1]));
  first.join();
  second.join();
  return 0;
}
