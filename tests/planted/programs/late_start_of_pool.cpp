// A pool starts its second thread when a connection has been opened; pieces for it lie ready from the start.
// planted: class=late-start function=StartPool|OpenConnection options=-O0

#include <atomic>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::atomic<int> next_piece = 0;

void WorkOnPieces() {
  while (next_piece++ < 200) COMPUTE_US(8000);
}

void OpenConnection() {
  rest_us(600000);  // <- cause
}

std::vector<std::thread> StartPool() {
  std::vector<std::thread> threads;
  threads.emplace_back(WorkOnPieces);
  const long long before_ns = now_ns();
  OpenConnection();  // <- cause
  lost_since(before_ns);
  threads.emplace_back(WorkOnPieces);  // <- cause
  return threads;
}
}  // namespace

int main() {
  for (std::thread& thread : StartPool()) thread.join();
  return write_truth();
}
