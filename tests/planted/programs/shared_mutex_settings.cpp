// Settings are reloaded under std::unique_lock of a std::shared_mutex while all requests want to read them.
// planted: class=lock-contention function=Reload

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
class Settings {
 public:
  void Reload() {
    const long long before_ns = now_ns();
    const std::unique_lock<std::shared_mutex> lock(mutex_);  // <- cause
    lost_since(before_ns);
    rest_us(9000);
    ++version_;
  }

  int Version() const {
    const long long before_ns = now_ns();
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    lost_since(before_ns);
    return version_;
  }

 private:
  mutable std::shared_mutex mutex_;
  int version_ = 0;
};

Settings settings;
std::atomic<bool> is_done = false;

void HandleRequests() {
  for (int i = 0; i < 300; ++i) {
    if (settings.Version() < 0) std::abort();
    rest_us(1000);
  }
}
}  // namespace

int main() {
  std::thread watcher([] {
    while (!is_done) {
      settings.Reload();
      rest_us(3000);
    }
  });
  std::vector<std::thread> requests;
  for (int i = 0; i < 3; ++i) requests.emplace_back(HandleRequests);
  for (std::thread& request : requests) request.join();
  is_done = true;
  watcher.join();
  return write_truth();
}
