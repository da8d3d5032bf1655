// Futures are all started before the first is waited for, and take the same time.
// planted: class=none options=-O0

#include <future>
#include <vector>

#include "planted.h"

namespace {
int Compute(int number) {
  COMPUTE_US(600000);
  return number;
}
}  // namespace

int main() {
  int sum = 0;
  for (int round = 0; round < 2; ++round) {
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 2; ++i) futures.push_back(std::async(std::launch::async, Compute, i));
    for (std::future<int>& future : futures) sum += future.get();
  }
  return sum != 2;
}
