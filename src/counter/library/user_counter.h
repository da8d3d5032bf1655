#pragma once
/// Counters and time of the calling thread without a system call, where the kernel permits that (x86: rdpmc; arm64:
/// kernel.perf_user_access), as <linux/perf_event.h> says.

#include <linux/perf_event.h>

#include <cstdint>

#include "base/clock.h"
#include "counter/scaled_count.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace attune::counter {

inline void CompilerBarrier() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/// The counter of this CPU with that number. Needs the kernel's permission, which the page says.
inline uint64_t ReadCounter(uint64_t number) {
#if defined(__x86_64__)
  return __rdpmc(static_cast<int>(number));
#elif defined(__aarch64__)
  // The generic registers 0 to 30 by their selector, and the cycle counter, 31.
  uint64_t value = 0;
  if (number == 31) [[unlikely]] {
    asm volatile("mrs %0, pmccntr_el0" : "=r"(value));
  } else {
    asm volatile("msr pmselr_el0, %1\n\tisb\n\tmrs %0, pmxevcntr_el0" : "=r"(value) : "r"(number));
  }
  return value;
#else
  return number;
#endif
}

inline uint64_t Ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  uint64_t value = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return 0;
#endif
}

/// The page that the kernel maps for an event. @thread the one whose event it is
class EventPage {
 public:
  EventPage() = default;
  explicit EventPage(int fd);
  EventPage(EventPage&& other) noexcept : page_(other.page_) { other.page_ = nullptr; }
  EventPage& operator=(EventPage&&) = delete;
  ~EventPage();

  /// @return false: it cannot be read so now
  bool Read(ScaledCount::Reading& reading) const;
  const volatile perf_event_mmap_page* get() const { return page_; }
  /// In a child process, which has no such page: another one may lie there.
  void Forget() { page_ = nullptr; }

 private:
  perf_event_mmap_page* page_ = nullptr;
};

/// A counter whose count can be told by its register alone: since its last full reading it was counted all the time,
/// and the thread's CPUs are of one kind (another kind's may not have that register).
class DirectCounter {
 public:
  DirectCounter() = default;
  explicit DirectCounter(const EventPage& event) : page_(event.get()) {}
  explicit operator bool() const { return page_ != nullptr; }

  /// @param value of the register  @return false: the kernel has written the page since Renew(), as it does when the
  /// thread comes back to a CPU  @cost 12 instructions
  bool Read(uint64_t& value) const {
    const volatile perf_event_mmap_page* const page = page_;
    const uint32_t lock = lock_;
    const uint64_t number = number_;
    value = ReadCounter(number);
    CompilerBarrier();
    return page->lock == lock;
  }
  /// Growth between two values, which is less than half of what the register holds.
  static uint64_t Growth(uint64_t value, uint64_t before, uint32_t unused_bits) {
    return Extend(value - before, unused_bits);
  }
  /// Total as of the last full reading, with what was counted up to a value that was read since Renew().
  uint64_t Total(uint64_t value) const { return base_ + Extend(value, unused_bits_); }
  uint32_t unused_bits() const { return unused_bits_; }
  /// Takes over what the kernel has written. @return false: the counter is not in a register, or was not for some time:
  /// a full reading is needed
  bool Renew();
  void SetReading(const ScaledCount& count);

 private:
  static constexpr uint32_t kNeverRead = 1;  // the kernel's numbers are even when it does not write

  static uint64_t Extend(uint64_t value, uint32_t unused_bits) {
    return static_cast<uint64_t>(static_cast<int64_t>(value << unused_bits) >> unused_bits);
  }

  const volatile perf_event_mmap_page* page_ = nullptr;
  uint64_t number_ = 0;  ///< of the register
  uint32_t lock_ = kNeverRead;
  uint32_t unused_bits_ = 0;  ///< of 64 that the register could have
  uint64_t base_ = 0;         ///< what the register lacks to the total
  uint64_t missing_ = 0;      ///< what the kernel's count lacks to the total
  uint64_t unseen_ns_ = 0;    ///< for which it was not counted until the last full reading
};

/// Time by the processor's ticks, where the kernel says how long one is, else by the system's clock.
class TickClock {
 public:
  TickClock() = default;
  explicit TickClock(const EventPage& event);

  bool has_ticks() const { return ns_per_tick_ != 0; }
  uint64_t Now() const { return ns_per_tick_ != 0 ? Ticks() : static_cast<uint64_t>(MonotonicNs()); }
  /// Nanoseconds of a difference of two of Now().
  uint64_t Ns(uint64_t difference) const {
    if (ns_per_tick_ == 0) return difference;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(difference) * ns_per_tick_) >> shift_);
  }

 private:
  uint32_t ns_per_tick_ = 0;  ///< times 2 to the power of `shift_`; 0: not known
  uint16_t shift_ = 0;
};

}  // namespace attune::counter
