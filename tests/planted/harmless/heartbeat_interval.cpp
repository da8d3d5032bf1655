// A heartbeat thread uses wait_for as its interval, and is woken early only when the program ends.
// planted: class=none

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable stop;
bool is_stopped = false;

void Beat() {
  std::unique_lock lock(mutex);
  while (!stop.wait_for(lock, std::chrono::milliseconds(50), [] { return is_stopped; })) {
  }
}
}  // namespace

int main() {
  std::thread heartbeat(Beat);
  std::thread first([] { COMPUTE_US(1200000); }), second([] { COMPUTE_US(1200000); });
  first.join();
  second.join();
  {
    const std::lock_guard lock(mutex);
    is_stopped = true;
  }
  stop.notify_one();
  heartbeat.join();
  return 0;
}
