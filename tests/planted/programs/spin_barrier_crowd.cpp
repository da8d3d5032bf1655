// Six threads meet at a barrier of their own that spins, on two CPUs: those who wait take the CPUs of those who work.
// planted: class=oversubscription tolerance=none

#include <atomic>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
constexpr int kThreads = 6;
std::atomic<int> arrived = 0, phase = 0;

void SpinAtBarrier() {
  const int own_phase = phase;
  if (++arrived == kThreads) {
    arrived = 0;
    ++phase;
    return;
  }
  while (phase == own_phase) __builtin_ia32_pause();
}

void Work() {
  for (int step = 0; step < 60; ++step) {
    COMPUTE_US(2000);
    SpinAtBarrier();
  }
}
}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(Work);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
