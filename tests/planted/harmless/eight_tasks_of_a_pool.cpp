// Eight threads work off a list of many short tasks, so that all end together however few CPUs there are.
// planted: class=none options=-O0

#include <atomic>
#include <thread>
#include <vector>

#include "planted.h"

int main() {
  std::atomic<int> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&next] {
      while (next++ < 480) COMPUTE_US(5000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
