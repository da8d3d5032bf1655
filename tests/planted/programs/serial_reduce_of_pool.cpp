// The owner of a thread pool reduces each batch alone while the workers wait for the next one.
// planted: class=serial-section function=ReduceBatch options=-O0

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void RunBatch(int pieces) {
    std::unique_lock lock(mutex_);
    waiting_ = open_ = pieces;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return waiting_ > 0 || is_closed_; });
      if (is_closed_) return;
      --waiting_;
      lock.unlock();
      COMPUTE_US(5000);
      lock.lock();
      if (--open_ == 0) changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0, open_ = 0;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

void ReduceBatch() {
  const long long before_ns = now_ns();
  COMPUTE_US(15000);  // <- cause
  lost_since(before_ns);
}
}  // namespace

int main() {
  Pool pool(2);
  for (int batch = 0; batch < 50; ++batch) {
    pool.RunBatch(4);
    ReduceBatch();
  }
  return write_truth();
}
