#pragma once
/// Pipes, sockets and message queues: identifies the channel of a descriptor and records messages (wire/message.h).
///
/// A descriptor is inspected at its first use, and again after about a millisecond, since not every close is observed.
/// After a program has installed a system call filter (seccomp), no further descriptor is inspected.

#include <stdint.h>

#include "probe/hook/account.h"
#include "wire/message.h"

namespace attune::probe::hook {

using wire::ChannelFunction;

/// Offset from the thread pointer to the C library's copy of the current CPU (rseq); 0: none, or not determined yet.
extern int64_t g_cpu_offset;

[[gnu::always_inline]] inline uint16_t Cpu() {
  if (__builtin_expect(g_cpu_offset == 0, 0)) return wire::kMessageNoCpu;
  const auto* pointer = static_cast<const char*>(__builtin_thread_pointer());
  const uint32_t cpu = *reinterpret_cast<const volatile uint32_t*>(pointer + g_cpu_offset);
  return cpu < wire::kMessageNoCpu ? static_cast<uint16_t>(cpu) : uint16_t{wire::kMessageNoCpu};
}

/// Cached state of a descriptor in one word: channel (16 bits; 0: none), whether it was inspected, and when, in units
/// of 2^kDescriptorTickBits ticks.
inline constexpr uint32_t kDescriptors = 4096;
inline constexpr uint32_t kDescriptorTickBits = 12;  ///< 1 to 4 us
inline constexpr uint64_t kDescriptorAge = 512;
inline constexpr uint64_t kDescriptorAsked = 1 << 16;
inline constexpr uint32_t kDescriptorTimeShift = 24;
inline constexpr uint64_t kDescriptorLowBits = (1 << kDescriptorTimeShift) - 1;
extern uint64_t* g_descriptors;  ///< [kDescriptors]; nullptr: channels are not recorded. Empty in a child made by fork

/// The word of a descriptor that was inspected now.
constexpr uint64_t DescriptorWord(uint32_t index, uint64_t now) {
  return now >> kDescriptorTickBits << kDescriptorTimeShift | kDescriptorAsked | index;
}

/// Whether a descriptor must be inspected again. The word has the lower 40 bits of a time: a month at least.
constexpr bool IsOld(uint64_t known, uint64_t now) {
  const uint64_t age = (now >> kDescriptorTickBits << kDescriptorTimeShift) - (known & ~kDescriptorLowBits);
  return age > kDescriptorAge << kDescriptorTimeShift;
}
static_assert(!IsOld(DescriptorWord(7, UINT64_C(1) << 52), UINT64_C(1) << 52));
static_assert(!IsOld(DescriptorWord(7, UINT64_C(0xfffffffffffff)), UINT64_C(0x10000000001000)));
static_assert(IsOld(DescriptorWord(7, UINT64_C(1) << 53), (UINT64_C(1) << 53) + (1 << 23)));

/// Inspects a descriptor. @return the channel's index; 0: none
[[gnu::noinline]] uint32_t LookAt(int file, uint64_t now);

/// The channel index of a descriptor; 0: no channel, or not recorded. @pre file >= 0
[[gnu::always_inline]] inline uint32_t ChannelOf(int file, uint64_t now) {
  if (__builtin_expect(g_descriptors == nullptr || g_mpi_stack != 0, 0) || static_cast<uint32_t>(file) >= kDescriptors)
    return 0;
  const uint64_t known = __atomic_load_n(&g_descriptors[file], __ATOMIC_RELAXED);
  if (__builtin_expect((known & kDescriptorAsked) == 0 || IsOld(known, now), 0)) return LookAt(file, now);
  return known & 0xffff;
}

/// Identity of a descriptor's eventfd, as it was made (wire::ChannelKind::kEvent), since all have one inode; 0: none. A
/// child made by fork knows those of its parent.
extern uint64_t g_event_of[kDescriptors];

/// Discards the cached state of a descriptor that may be reused.
inline void ForgetDescriptor(int file) {
  if (static_cast<uint32_t>(file) >= kDescriptors) return;
  if (g_descriptors != nullptr) __atomic_store_n(&g_descriptors[file], 0, __ATOMIC_RELAXED);
  if (__builtin_expect(__atomic_load_n(&g_event_of[file], __ATOMIC_RELAXED) != 0, 0))
    __atomic_store_n(&g_event_of[file], 0, __ATOMIC_RELAXED);
}

struct CallTimes {
  uint64_t begin, end;  ///< ticks
};

/// Reports the module of a site to the session, unless that was done recently. @return what is to be recorded as site
uint64_t TellSite(const void* site);

/// Whether the function sends.
constexpr bool Sends(ChannelFunction function) {
  return (function >= ChannelFunction::kWrite && function <= ChannelFunction::kSendmsg) ||
         function == ChannelFunction::kMqSend || function == ChannelFunction::kMsgsnd;
}

/// Records a message that was sent or received.
[[gnu::always_inline]] inline void TellChannel(uint32_t channel, ChannelFunction function, const CallTimes& times,
                                               int32_t tag, uint64_t bytes, const void* site) {
  const uint64_t place = TellSite(site);
  const auto kind = Sends(function) ? wire::EventKind::kMessageSent : wire::EventKind::kMessageReceived;
  EmitAt([&times] { return times.end; }, kind,
         static_cast<uint16_t>(wire::kMessageFirstChannelFunction + static_cast<unsigned>(function)),
         channel << 16 | Cpu(), times.begin, uint64_t{static_cast<uint32_t>(tag)}, bytes, place);
}

}  // namespace attune::probe::hook
