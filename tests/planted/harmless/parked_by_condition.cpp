// Spare threads of a library wait at a condition from the start to the end; two others compute.
// planted: class=none options=-O0

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable needed;
bool is_over = false;

void StayReady() {
  std::unique_lock lock(mutex);
  needed.wait(lock, [] { return is_over; });
}
}  // namespace

int main() {
  std::vector<std::thread> spare;
  for (int i = 0; i < 6; ++i) spare.emplace_back(StayReady);
  std::thread first([] { COMPUTE_US(1200000); }), second([] { COMPUTE_US(1200000); });
  first.join();
  second.join();
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  needed.notify_all();
  for (std::thread& thread : spare) thread.join();
  return 0;
}
