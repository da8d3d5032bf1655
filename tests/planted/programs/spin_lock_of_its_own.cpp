// A spin lock made of std::atomic_flag guards milliseconds of work; the other thread burns a CPU meanwhile.
// planted: class=busy-wait function=Lock|UpdateModel

#include <atomic>
#include <thread>

#include "planted.h"

namespace {
class SpinLock {
 public:
  void Lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {  // <- cause
      __builtin_ia32_pause();                                // <- cause
    }
  }
  void Unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_;
};

SpinLock model_lock;

void UpdateModel() {
  const long long before_ns = cpu_ns();
  model_lock.Lock();  // <- cause
  lost(cpu_ns() - before_ns);
  COMPUTE_US(4000);
  model_lock.Unlock();
}

void Train() {
  for (int i = 0; i < 120; ++i) {
    UpdateModel();
    COMPUTE_US(1000);
  }
}
}  // namespace

int main() {
  std::thread first(Train), second(Train);
  first.join();
  second.join();
  return write_truth();
}
