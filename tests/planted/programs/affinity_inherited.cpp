// The first thread pins itself for a measurement and never undoes it; the threads that it makes inherit one CPU.
// planted: class=narrow-affinity options=-O0

#include <thread>
#include <vector>

#include "planted.h"

namespace {
void PinForMeasurement() {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) skip("one CPU");
  CPU_ZERO(&one);
  int cpu = CPU_SETSIZE - 1;
  while (!CPU_ISSET(cpu, &allowed)) --cpu;
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

void ComputePart() {
  COMPUTE_US(700000);
  lost(queued_ns());
}
}  // namespace

int main() {
  PinForMeasurement();
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(ComputePart);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
