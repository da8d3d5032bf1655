// Each of three threads locks its table and then the next one, in a circle, one thread after the other.
// planted: class=lock-order-cycle function=CopyToNext options=-O0

#include <array>
#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::array<std::mutex, 3> tables;
std::barrier<> turn_end(3);

void CopyToNext(int table) {
  const std::lock_guard<std::mutex> own(tables[table]);
  const std::lock_guard<std::mutex> next(tables[(table + 1) % 3]);  // <- cause
}

void CopyTables(int number) {
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 50 && turn == number; ++i) CopyToNext(number);
    turn_end.arrive_and_wait();
  }
  COMPUTE_US(300000);
}
}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(CopyTables, i);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
