// A ticket lock of the program's own, compiled without optimisation, is held through a computation.
// planted: class=busy-wait|lock-contention function=lock|Post options=-O0

#include <atomic>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
class TicketLock {
 public:
  void lock() {
    const unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
    const long long before_ns = cpu_ns();
    while (serving_.load(std::memory_order_acquire) != mine) {  // <- cause
    }  // <- cause
    lost(cpu_ns() - before_ns);
  }
  void unlock() { serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }

 private:
  std::atomic<unsigned> next_{0}, serving_{0};
};

TicketLock ledger;

void Post() {
  const std::lock_guard<TicketLock> guard(ledger);  // <- cause
  COMPUTE_US(4000);
}

void Serve() {
  for (int i = 0; i < 150; ++i) {
    Post();
    COMPUTE_US(500);
  }
}
}  // namespace

int main() {
  std::thread one(Serve), two(Serve);
  one.join();
  two.join();
  return write_truth();
}
