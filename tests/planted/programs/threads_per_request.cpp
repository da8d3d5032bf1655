// A dispatcher makes a std::thread for each tiny request, detached, and waits until it has answered.
// planted: class=short-threads function=Dispatch tolerance=none

#include <atomic>
#include <thread>

#include "planted.h"

namespace {
std::atomic<int> answered = 0;

void Dispatch(int requests) {
  for (int i = 0; i < requests; ++i) {
    std::thread([] {  // <- cause
      COMPUTE_US(10);
      ++answered;
      answered.notify_one();
    })
        .detach();
    answered.wait(i);  // <- cause
  }
}
}  // namespace

int main() {
  Dispatch(20000);
  return write_truth();
}
