// Threads ask for a device by std::timed_mutex with a generous limit, and each keeps it through its transfer.
// planted: class=lock-contention function=Transfer

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::timed_mutex device;

void Transfer() {
  const long long before_ns = now_ns();
  const std::unique_lock<std::timed_mutex> lock(device, std::chrono::seconds(60));  // <- cause
  lost_since(before_ns);
  if (!lock) std::abort();
  rest_us(4000);
}
}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 80; ++round) {
        Transfer();
        COMPUTE_US(500);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
