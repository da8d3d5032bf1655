// Threads are made and joined, but each lives for a fifth of a second and there are as many as CPUs.
// planted: class=none

#include <thread>

#include "planted.h"

int main() {
  for (int step = 0; step < 6; ++step) {
    std::thread first([] { COMPUTE_US(200000); }), second([] { COMPUTE_US(200000); });
    first.join();
    second.join();
  }
  return 0;
}
