// A consumer asks a queue with a lock for its size, without a pause, until there is something in it.
// planted: class=busy-wait function=Size|WaitForItem options=-O0

#include <mutex>
#include <queue>
#include <thread>

#include "planted.h"

namespace {
class LockedQueue {
 public:
  void Push(int item) {
    const std::lock_guard lock(mutex_);
    items_.push(item);
  }
  int Pop() {
    const std::lock_guard lock(mutex_);
    const int item = items_.front();
    items_.pop();
    return item;
  }
  // <- cause: begin
  std::size_t Size() {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  // <- cause: end

 private:
  std::mutex mutex_;
  std::queue<int> items_;
};

LockedQueue queue;

int WaitForItem() {
  const long long before_ns = cpu_ns();
  while (queue.Size() == 0) {  // <- cause
  }  // <- cause
  lost(cpu_ns() - before_ns);
  return queue.Pop();
}
}  // namespace

int main() {
  std::thread producer([] {
    for (int i = 0; i < 100; ++i) {
      COMPUTE_US(10000);
      queue.Push(i);
    }
  });
  for (int i = 0; i < 100; ++i) {
    if (WaitForItem() != i) return 1;
  }
  producer.join();
  return write_truth();
}
