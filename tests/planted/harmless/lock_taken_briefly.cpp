// A lock is taken for a moment every millisecond by each of two threads that compute.
// planted: class=none options=-O0

#include <map>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
std::mutex mutex;
std::map<int, int> results;

void Compute(int first) {
  for (int i = 0; i < 1200; ++i) {
    COMPUTE_US(1000);
    const std::lock_guard<std::mutex> lock(mutex);
    results[first + i] = i;
  }
}
}  // namespace

int main() {
  std::thread first(Compute, 0), second(Compute, 100000);
  first.join();
  second.join();
  return results.size() != 2400;
}
