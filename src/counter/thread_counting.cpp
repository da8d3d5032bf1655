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
  // The kernel frees a thread a grace period (some 10 ms) after it was waited for. Others live on.
  constexpr int64_t kMostWaitNs = 1'000'000'000, kMostGraceNs = 100'000'000;
  const int64_t begin_ns = MonotonicNs();
  int64_t last_end_ns = begin_ns, now_ns = begin_ns;
  while (!counting.HaveAllEnded() && now_ns - begin_ns < kMostWaitNs && now_ns - last_end_ns < kMostGraceNs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ATTUNE_CHECK_OK(counting.Read(false, [&](const ThreadCounts& thread) {
      if (thread.HasEnded()) last_end_ns = MonotonicNs();
      visit(thread);
    }));
    now_ns = MonotonicNs();
  }
  return counting.End(visit);
}

}  // namespace attune::counter
