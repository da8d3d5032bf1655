// A tree is walked under a std::recursive_mutex that each level takes again.
// planted: class=lock-contention function=CountLeaves

#include <mutex>
#include <thread>

#include "planted.h"

namespace {
std::recursive_mutex tree_mutex;

// The outermost call waits.
int CountLeaves(int depth) {
  const long long before_ns = now_ns();
  const std::lock_guard<std::recursive_mutex> lock(tree_mutex);  // <- cause
  if (depth == 6) lost_since(before_ns);
  COMPUTE_US(50);
  return depth == 0 ? 1 : CountLeaves(depth - 1) + CountLeaves(depth - 1);
}

void WalkTree() {
  for (int i = 0; i < 60; ++i) {
    if (CountLeaves(6) != 64) std::abort();
    COMPUTE_US(2000);
  }
}
}  // namespace

int main() {
  std::thread first(WalkTree), second(WalkTree);
  first.join();
  second.join();
  return write_truth();
}
