#pragma once
/// What sampling is measured against: a loop that does nothing but wake up, read and parse.

#include <atomic>
#include <cstdint>
#include <ctime>

namespace attune::bench {

constexpr int64_t kMs = 1'000'000;
constexpr int kPriority = 10;  ///< of SCHED_FIFO, as the sampler's

struct SamplingRun {
  double cpu_ns_a_tick = 0;  ///< of the whole process; of a bare loop: of its thread
  double cpu_share = 0;      ///< of one core
  double taken = 0;          ///< ticks that have a sample, of all
};

/// CPU time of this thread or process, by the clock.
int64_t CpuNs(clockid_t clock);

/// Every number of the text, one after the other: the least that a reader of such a file can do.
int64_t SumOfNumbers(const char* at, const char* end);

/// Wake-up, pread and parse of vmstat and stat, at 1 kHz unless told otherwise, until the time is over or it is told to
/// stop. Counts misses as the sampler does. Runs in a thread of its own and returns when that has ended.
SamplingRun BareLoop(int64_t run_ns, bool realtime = true, const std::atomic<bool>* stop = nullptr,
                     int64_t interval_ns = kMs);

}  // namespace attune::bench
