#include "counter/thread_counting.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace attune::counter {

std::vector<pid_t> ThreadsOf(const HostRoot& host, pid_t pid) {
  std::vector<pid_t> threads;
  const auto names = host.List(fmt::format("/proc/{}/task", pid));
  if (!names.ok()) return threads;
  for (const std::string& name : *names) {
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid > 0) threads.push_back(tid);
  }
  return threads;
}

Status EndWhenAllHaveEnded(ThreadCounting& counting, const ThreadCounting::Visit& visit) {
  constexpr int64_t kMostWaitNs = 500'000'000;
  const int64_t end_ns = MonotonicNs();
  while (!counting.HaveAllEnded() && MonotonicNs() - end_ns < kMostWaitNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ATTUNE_CHECK_OK(counting.Read(false, visit));
  }
  return counting.End(visit);
}

}  // namespace attune::counter
