// A std::shared_ptr to the same settings is copied for every request: both threads write its reference count.
// planted: class=true-sharing function=HandleRequest|HandleRequests tolerance=none

#include <memory>
#include <thread>

#include "planted.h"

namespace {
struct Settings {
  int limit = 100;
};

std::shared_ptr<const Settings> settings = std::make_shared<Settings>();

bool HandleRequest(int size) {
  const std::shared_ptr<const Settings> own = settings;  // <- cause
  return size < own->limit;                              // <- cause
}  // <- cause

// <- cause: begin
void HandleRequests() {
  long accepted = 0;
  const long long before_ns = cpu_ns();
  while (cpu_ns() - before_ns < 1200000000LL) {
    for (int i = 0; i < 20000; ++i) accepted += HandleRequest(i % 200);
  }
  if (accepted == 0) std::abort();
}
// <- cause: end
}  // namespace

int main() {
  std::thread first(HandleRequests), second(HandleRequests);
  first.join();
  second.join();
  return write_truth();
}
