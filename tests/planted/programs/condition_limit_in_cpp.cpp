// A writer waits by wait_for for free space that nobody announces: it goes on when the time has run out.
// planted: class=timeout-wait function=WaitForSpace

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable space;
int used = 0;

void WaitForSpace() {
  std::unique_lock lock(mutex);
  while (used > 0) {
    const long long before_ns = now_ns();
    space.wait_for(lock, std::chrono::milliseconds(25));  // <- cause
    lost_since(before_ns);
  }
  used = 1;
}

void FreeSpace() {
  const std::lock_guard lock(mutex);
  used = 0;
}
}  // namespace

int main() {
  for (int i = 0; i < 45; ++i) {
    WaitForSpace();
    std::thread(FreeSpace).join();
    COMPUTE_US(500);
    const std::lock_guard lock(mutex);
    used = i < 44;
    if (used == 1) std::thread([] { rest_us(2000), FreeSpace(); }).detach();
  }
  return write_truth();
}
