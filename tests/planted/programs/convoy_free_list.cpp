// Four threads take objects from a free list whose lock goes to its waiters in turn (priority inheritance).
// planted: class=lock-convoy function=TakeFree options=-O0

#include <thread>
#include <vector>

#include "planted.h"

namespace {
class FreeList {
 public:
  FreeList() {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT) != 0) skip("no priority inheritance");
    pthread_mutex_init(&mutex_, &attributes);
    for (int i = 0; i < 20000; ++i) free_.push_back(i);
  }

  int TakeFree() {
    const long long before_ns = now_ns();
    pthread_mutex_lock(&mutex_);  // <- cause
    lost_since(before_ns);
    const int object = free_.back();
    free_.pop_back();
    free_.insert(free_.begin(), object);
    pthread_mutex_unlock(&mutex_);
    return object;
  }

 private:
  pthread_mutex_t mutex_;
  std::vector<int> free_;
};

FreeList objects;

void UseObjects() {
  for (int i = 0; i < 12000; ++i) {
    if (objects.TakeFree() < 0) std::abort();
    COMPUTE_US(1);
  }
}
}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(UseObjects);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
