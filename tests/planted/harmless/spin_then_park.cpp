// Helper threads look for work for 20 us before they sleep at a condition, and work comes ten times a second.
// planted: class=none

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable changed;
std::atomic<int> jobs = 0;
std::atomic<bool> is_over = false;

bool LookForJob() {
  const long long before_ns = now_ns();
  do {
    int seen = jobs;
    if (seen > 0 && jobs.compare_exchange_strong(seen, seen - 1)) return true;
  } while (now_ns() - before_ns < 20000);
  return false;
}

void Help() {
  while (!is_over) {
    if (LookForJob()) {
      COMPUTE_US(1000);
      continue;
    }
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return jobs > 0 || is_over; });
  }
}
}  // namespace

int main() {
  std::vector<std::thread> helpers;
  for (int i = 0; i < 3; ++i) helpers.emplace_back(Help);
  for (int i = 0; i < 12; ++i) {
    rest_us(100000);
    const std::lock_guard lock(mutex);
    ++jobs;
    changed.notify_one();
  }
  {
    const std::lock_guard lock(mutex);
    is_over = true;
  }
  changed.notify_all();
  for (std::thread& helper : helpers) helper.join();
  return 0;
}
