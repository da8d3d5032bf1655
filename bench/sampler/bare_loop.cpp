#include "sampler/bare_loop.h"

#include <sched.h>
#include <sys/prctl.h>

#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/host_root.h"
#include "base/unique_fd.h"

namespace attune::bench {

int64_t CpuNs(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

int64_t SumOfNumbers(const char* at, const char* end) {
  int64_t sum = 0;
  while (at < end) {
    while (at < end && (*at < '0' || *at > '9')) ++at;
    int64_t value = 0;
    while (at < end && *at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
    sum += value;
  }
  return sum;
}

SamplingRun BareLoop(int64_t run_ns, bool realtime, const std::atomic<bool>* stop, int64_t interval_ns) {
  SamplingRun run;
  std::thread([&] {
    const sched_param parameters{kPriority};
    if (realtime) ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters);
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    const UniqueFd vmstat = *HostRoot().Open("/proc/vmstat");
    const UniqueFd stat = *HostRoot().Open("/proc/stat");
    std::vector<char> buffer(64 << 10);
    volatile int64_t sum = 0;
    const int64_t cpu_ns = CpuNs(CLOCK_THREAD_CPUTIME_ID);
    int64_t next_ns = MonotonicNs() / interval_ns * interval_ns;
    const int64_t end_ns = next_ns + run_ns;
    int64_t ticks = 0, missed = 0;
    while (next_ns < end_ns && (stop == nullptr || !stop->load(std::memory_order_relaxed))) {
      next_ns += interval_ns;
      const timespec until{next_ns / 1'000'000'000, next_ns % 1'000'000'000};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      const int64_t late = (MonotonicNs() - next_ns) / interval_ns;
      next_ns += late * interval_ns;
      missed += late;
      ++ticks;
      for (const int fd : {vmstat.get(), stat.get()}) {
        const long size = PreadAll(fd, buffer.data(), buffer.size());
        sum = sum + SumOfNumbers(buffer.data(), buffer.data() + size);
      }
    }
    const auto cpu = static_cast<double>(CpuNs(CLOCK_THREAD_CPUTIME_ID) - cpu_ns);
    run.cpu_ns_a_tick = cpu / static_cast<double>(ticks);
    run.cpu_share = cpu / static_cast<double>(run_ns);
    run.taken = static_cast<double>(ticks) / static_cast<double>(ticks + missed);
  }).join();
  return run;
}

}  // namespace attune::bench
