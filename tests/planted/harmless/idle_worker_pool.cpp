// A pool of four threads waits for work, of which there is a little every 50 ms.
// planted: class=none

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable changed;
int jobs = 0;
bool is_closed = false;

void Work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [] { return jobs > 0 || is_closed; });
    if (jobs == 0) return;
    --jobs;
    lock.unlock();
    COMPUTE_US(500);
    lock.lock();
  }
}
}  // namespace

int main() {
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back(Work);
  for (int i = 0; i < 25; ++i) {
    rest_us(50000);
    const std::lock_guard lock(mutex);
    ++jobs;
    changed.notify_one();
  }
  {
    const std::lock_guard lock(mutex);
    is_closed = true;
  }
  changed.notify_all();
  for (std::thread& worker : workers) worker.join();
  return 0;
}
