#pragma once
/// One type a clock: Read() in its own units, as directly as a program would. Only for clocks.cpp.

#include <sys/time.h>
#include <time.h>

#include <cstdint>

#include "wire/tsc.h"

namespace attune::machine::readers {

inline constexpr clockid_t kNoClock = -1;

template <clockid_t kId>
struct Posix {
  static constexpr clockid_t kClock = kId;
  static constexpr bool kIsTsc = false;
  static constexpr int64_t kUnitNs = 1;
  static int64_t Read() {
    timespec now;
    clock_gettime(kId, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  }
};

struct Seconds {
  static constexpr clockid_t kClock = kNoClock;
  static constexpr bool kIsTsc = false;
  static constexpr int64_t kUnitNs = 1'000'000'000;
  static int64_t Read() { return time(nullptr); }
};

struct TimeOfDay {
  static constexpr clockid_t kClock = kNoClock;
  static constexpr bool kIsTsc = false;
  static constexpr int64_t kUnitNs = 1000;
  static int64_t Read() {
    timeval now;
    gettimeofday(&now, nullptr);
    return now.tv_sec * 1'000'000LL + now.tv_usec;
  }
};

/// The cycle counter as it is: the CPU may read it before what stands in front of it is done.
struct Tsc {
  static constexpr clockid_t kClock = kNoClock;
  static constexpr bool kIsTsc = true;
  static constexpr int64_t kUnitNs = 1;
  static int64_t Read() { return static_cast<int64_t>(ReadTsc()); }
};

#if defined(__x86_64__)
/// Waits for what stands in front of it.
struct TscP : Tsc {
  static int64_t Read() {
    unsigned cpu;
    return static_cast<int64_t>(__builtin_ia32_rdtscp(&cpu));
  }
};

/// Waits for what stands in front of it, and what follows waits for it.
struct FencedTsc : Tsc {
  static int64_t Read() {
    __builtin_ia32_lfence();
    const auto now = static_cast<int64_t>(__builtin_ia32_rdtsc());
    __builtin_ia32_lfence();
    return now;
  }
};
#endif

}  // namespace attune::machine::readers
