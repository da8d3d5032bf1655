// Each round has a std::latch of its own; the same thread comes last to it every time.
// planted: class=load-imbalance|wait-at-barrier function=Work options=-O0

#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
constexpr int kRounds = 80;
std::vector<std::unique_ptr<std::latch>> latches;

void Work(int thread) {
  for (int round = 0; round < kRounds; ++round) {
    rest_us(thread == 1 ? 12000 : 3000);
    const long long before_ns = now_ns();
    latches[round]->arrive_and_wait();  // <- cause
    lost_since(before_ns);
  }
}
}  // namespace

int main() {
  for (int i = 0; i < kRounds; ++i) latches.push_back(std::make_unique<std::latch>(3));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(Work, i);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
