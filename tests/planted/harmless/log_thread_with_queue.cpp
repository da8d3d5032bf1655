// Two threads compute and hand each tenth result to a thread that writes a log, which keeps up and waits for more.
// planted: class=none

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable arrived;
std::deque<int> queue;
bool is_closed = false;

void WriteLog(FILE* output) {
  std::unique_lock lock(mutex);
  for (;;) {
    arrived.wait(lock, [] { return !queue.empty() || is_closed; });
    if (queue.empty()) return;
    const int line = queue.front();
    queue.pop_front();
    lock.unlock();
    std::fprintf(output, "result %d\n", line);
    lock.lock();
  }
}

void Compute() {
  for (int i = 0; i < 1200; ++i) {
    COMPUTE_US(1000);
    if (i % 10 != 0) continue;
    const std::lock_guard lock(mutex);
    queue.push_back(i);
    arrived.notify_one();
  }
}
}  // namespace

int main() {
  FILE* output = std::fopen("/dev/null", "w");
  std::thread logger(WriteLog, output), first(Compute), second(Compute);
  first.join();
  second.join();
  {
    const std::lock_guard lock(mutex);
    is_closed = true;
  }
  arrived.notify_one();
  logger.join();
  return 0;
}
