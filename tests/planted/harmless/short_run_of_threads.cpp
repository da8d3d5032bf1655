// Four threads live for five milliseconds, and wait for each other once.
// planted: class=none options=-O0

#include <barrier>
#include <thread>
#include <vector>

#include "planted.h"

int main() {
  std::barrier meeting(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&meeting, i] {
      COMPUTE_US(500 * i);
      meeting.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
