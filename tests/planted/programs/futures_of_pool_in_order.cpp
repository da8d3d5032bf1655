// A pool of two threads is given one std::packaged_task at a time: the next when the last has its result.
// planted: class=sequential-futures function=Evaluate options=-O0

#include <condition_variable>
#include <future>
#include <mutex>
#include <queue>
#include <thread>

#include "planted.h"

namespace {
std::mutex mutex;
std::condition_variable changed;
std::queue<std::packaged_task<int()>> tasks;
bool is_closed = false;

void Work() {
  for (;;) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [] { return !tasks.empty() || is_closed; });
    if (tasks.empty()) return;
    std::packaged_task<int()> task = std::move(tasks.front());
    tasks.pop();
    lock.unlock();
    task();
  }
}

std::future<int> Submit(std::packaged_task<int()> task) {
  std::future<int> result = task.get_future();
  const std::lock_guard lock(mutex);
  tasks.push(std::move(task));
  changed.notify_one();
  return result;
}

int Evaluate(int candidates) {
  int best = 0;
  for (int i = 0; i < candidates; ++i) {
    std::future<int> score = Submit(std::packaged_task<int()>([i] {  // <- cause
      COMPUTE_US(12000);
      return i;
    }));
    const long long before_ns = now_ns();
    best = std::max(best, score.get());  // <- cause
    lost_since(before_ns);
  }
  return best;
}
}  // namespace

int main() {
  std::thread first(Work), second(Work);
  if (Evaluate(110) != 109) return 1;
  {
    const std::lock_guard lock(mutex);
    is_closed = true;
  }
  changed.notify_all();
  first.join();
  second.join();
  return write_truth();
}
