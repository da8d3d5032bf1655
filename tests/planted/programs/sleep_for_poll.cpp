// A dispatcher sleeps by std::this_thread::sleep_for between two looks at a result that is there much earlier.
// planted: class=polling-delay function=AwaitResult

#include <atomic>
#include <chrono>
#include <thread>

#include "planted.h"

namespace {
std::atomic<int> request = 0, result = 0;

int AwaitResult(int number) {
  while (result < number) {
    const long long before_ns = now_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // <- cause
    lost_since(before_ns);
  }
  return result;
}

void Serve() {
  for (int i = 1; i <= 110; ++i) {
    request.wait(i - 1);
    COMPUTE_US(2000);
    result = i;
  }
}
}  // namespace

int main() {
  std::thread server(Serve);
  for (int i = 1; i <= 110; ++i) {
    request = i;
    request.notify_one();
    if (AwaitResult(i) != i) return 1;
  }
  server.join();
  return write_truth();
}
