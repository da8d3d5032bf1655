// Service threads of a runtime tidy up every 20 ms, by a wait with that limit; two others compute.
// planted: class=none

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable stopped;
bool is_over = false;

void TidyUp() {
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, std::chrono::milliseconds(20), [] { return is_over; })) COMPUTE_US(10);
}
}  // namespace

int main() {
  std::vector<std::thread> services, workers;
  for (int i = 0; i < 4; ++i) services.emplace_back(TidyUp);
  for (int i = 0; i < 2; ++i) workers.emplace_back([] { COMPUTE_US(1200000); });
  for (std::thread& worker : workers) worker.join();
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  stopped.notify_all();
  for (std::thread& service : services) service.join();
  return 0;
}
