// Two threads pass a buffer to and fro by std::binary_semaphore, so that only one of them computes.
// planted: class=serialisation function=Fill|Drain

#include <semaphore>
#include <thread>

#include "planted.h"

namespace {
std::binary_semaphore is_empty(1), is_full(0);
constexpr int kTimes = 180;

void Acquire(std::binary_semaphore& semaphore) {
  const long long before_ns = now_ns();
  semaphore.acquire();
  lost_since(before_ns);
}

void Fill() {
  for (int i = 0; i < kTimes; ++i) {
    Acquire(is_empty);
    COMPUTE_US(3000);
    is_full.release();  // <- cause
  }
}

void Drain() {
  for (int i = 0; i < kTimes; ++i) {
    Acquire(is_full);
    COMPUTE_US(3000);
    is_empty.release();  // <- cause
  }
}
}  // namespace

int main() {
  std::thread first(Fill), second(Drain);
  first.join();
  second.join();
  return write_truth();
}
