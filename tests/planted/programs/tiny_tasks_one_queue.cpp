// Threads take tasks of two microseconds from one queue with one lock, for which they wait longer than they work.
// planted: class=lock-contention|lock-convoy function=TakeTask tolerance=10

#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "planted.h"

namespace {
std::mutex queue_mutex;
std::deque<int> tasks;

int TakeTask() {
  const long long before_ns = now_ns();
  const std::lock_guard<std::mutex> lock(queue_mutex);  // <- cause
  lost_since(before_ns);
  if (tasks.empty()) return -1;
  const int task = tasks.front();
  tasks.pop_front();
  COMPUTE_US(2);
  return task;
}

void RunTasks() {
  while (TakeTask() >= 0) COMPUTE_US(2);
}
}  // namespace

int main() {
  for (int i = 0; i < 300000; ++i) tasks.push_back(i);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(RunTasks);
  for (std::thread& thread : threads) thread.join();
  return write_truth();
}
