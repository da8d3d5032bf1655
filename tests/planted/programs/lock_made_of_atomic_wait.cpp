// A lock of the program's own sleeps by std::atomic::wait, and is held through a long computation.
// planted: class=lock-contention|serialisation function=Lock|Unlock|Reserve

#include <atomic>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
class AtomicLock {
 public:
  void Lock() {
    while (is_taken_.exchange(1) == 1) is_taken_.wait(1);  // <- cause
  }
  void Unlock() {
    is_taken_ = 0;
    is_taken_.notify_one();  // <- cause
  }

 private:
  std::atomic<int> is_taken_ = 0;
};

AtomicLock seats;

void Reserve() {
  const long long before_ns = now_ns();
  seats.Lock();  // <- cause
  lost_since(before_ns);
  COMPUTE_US(4000);
  seats.Unlock();  // <- cause
}

void SellTickets() {
  for (int i = 0; i < 130; ++i) {
    Reserve();
    COMPUTE_US(1000);
  }
}
}  // namespace

int main() {
  std::vector<std::thread> offices;
  for (int i = 0; i < 2; ++i) offices.emplace_back(SellTickets);
  for (std::thread& office : offices) office.join();
  return write_truth();
}
