// A spin lock is held for nanoseconds and asked for rarely: nobody spins for long.
// planted: class=none

#include <atomic>
#include <thread>

#include "planted.h"

namespace {
std::atomic_flag flag;
long total = 0;

void Add(long value) {
  while (flag.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  total += value;
  flag.clear(std::memory_order_release);
}

void Compute() {
  for (int i = 0; i < 1200; ++i) {
    COMPUTE_US(1000);
    Add(i);
  }
}
}  // namespace

int main() {
  std::thread first(Compute), second(Compute);
  first.join();
  second.join();
  return total == 0;
}
