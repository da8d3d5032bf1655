// The main thread joins a worker with the lock in hand that the worker needs to end; an alarm ends the program.
// planted: class=deadlock function=Stop|Run exit=0 options=-O0

#include <csignal>
#include <mutex>
#include <thread>

#include "planted.h"

namespace {
class Service {
 public:
  Service() : thread_([this] { Run(); }) {}

  void Stop() {
    const std::lock_guard lock(mutex_);
    since_ns = now_ns();
    thread_.join();  // <- cause
  }

  static inline long long since_ns = 0, worker_since_ns = 0;

 private:
  void Run() {
    rest_us(100000);
    worker_since_ns = now_ns();
    const std::lock_guard lock(mutex_);  // <- cause
  }

  std::mutex mutex_;
  std::thread thread_;
};

void EndBySignal(int) {
  lost_since(Service::since_ns);
  lost_since(Service::worker_since_ns);
  write_truth();
  _exit(0);
}
}  // namespace

int main() {
  std::signal(SIGALRM, EndBySignal);
  alarm(1);
  Service service;
  service.Stop();
  return 1;
}
