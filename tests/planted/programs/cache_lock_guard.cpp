// A cache computes what it does not have yet under std::lock_guard, in a class template without optimisation.
// planted: class=lock-contention function=Cache options=-O0

#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

template <typename Key, typename Value>
class Cache {
 public:
  Value Get(const Key& key) {
    const long long before_ns = now_ns();
    const std::lock_guard<std::mutex> lock(mutex_);  // <- cause
    lost_since(before_ns);
    auto [entry, is_new] = values_.try_emplace(key);
    if (is_new) entry->second = Compute(key);
    return entry->second;
  }

 private:
  Value Compute(const Key& key) {
    COMPUTE_US(3000);
    return Value(key);
  }

  std::mutex mutex_;
  std::map<Key, Value> values_;
};

int main() {
  Cache<int, double> cache;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&cache, thread] {
      for (int i = 0; i < 180; ++i) {
        cache.Get(2 * i + thread);
        COMPUTE_US(1000);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
