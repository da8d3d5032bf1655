// A producer and a consumer need the same time for an item, and a queue of 64 lies between them.
// planted: class=none

#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

#include "planted.h"

namespace {
class BoundedQueue {
 public:
  void Push(int item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [this] { return items_.size() < 64; });
    items_.push(item);
    has_item_.notify_one();
  }
  int Pop() {
    std::unique_lock lock(mutex_);
    has_item_.wait(lock, [this] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop();
    has_room_.notify_one();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_item_, has_room_;
  std::queue<int> items_;
};
}  // namespace

int main() {
  BoundedQueue queue;
  std::thread consumer([&queue] {
    while (queue.Pop() >= 0) COMPUTE_US(3000);
  });
  for (int i = 0; i < 400; ++i) {
    COMPUTE_US(3000);
    queue.Push(i);
  }
  queue.Push(-1);
  consumer.join();
  return 0;
}
