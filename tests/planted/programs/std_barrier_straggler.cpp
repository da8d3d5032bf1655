// The first of two threads has more to simulate in each phase that ends at a std::barrier.
// planted: class=load-imbalance function=Simulate|operator()

#include <barrier>
#include <thread>

#include "planted.h"

namespace {
std::barrier<> phase_end(2);

void Simulate(int bodies) {
  for (int phase = 0; phase < 90; ++phase) {
    COMPUTE_US(bodies * 100);
    const long long before_ns = now_ns();
    phase_end.arrive_and_wait();  // <- cause
    lost_since(before_ns);
  }
}
}  // namespace

int main() {
  std::thread first(Simulate, 120), second(Simulate, 40);
  first.join();
  second.join();
  return write_truth();
}
