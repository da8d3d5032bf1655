// A writer waits by wait_for for free space that nobody announces: it goes on when the time has run out.
// planted: class=timeout-wait function=WaitForSpace

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
constexpr int kBlocks = 50;
std::mutex mutex;
std::condition_variable has_space, has_block;
int blocks = 0;

void WaitForSpace() {
  std::unique_lock lock(mutex);
  while (blocks > 0) {
    const long long before_ns = now_ns();
    has_space.wait_for(lock, std::chrono::milliseconds(25));  // <- cause
    lost_since(before_ns);
  }
}

void WriteBlocks() {
  for (int i = 0; i < kBlocks; ++i) {
    WaitForSpace();
    COMPUTE_US(500);
    const std::lock_guard lock(mutex);
    ++blocks;
    has_block.notify_one();
  }
}

// Says nothing of the space that it makes.
void TakeBlocks() {
  for (int i = 0; i < kBlocks; ++i) {
    std::unique_lock lock(mutex);
    has_block.wait(lock, [] { return blocks > 0; });
    --blocks;
    lock.unlock();
    COMPUTE_US(1000);
  }
}
}  // namespace

int main() {
  std::thread writer(WriteBlocks), taker(TakeBlocks);
  writer.join();
  taker.join();
  return write_truth();
}
