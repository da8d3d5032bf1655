#pragma once
/// Parses the records that the kernel writes to the rings of CpuSampler (perf_event_open(2)).

#include <linux/perf_event.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "profile/instructions.h"

namespace attune::profile {

/// General registers of x86-64 in the encoding of its instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
inline constexpr size_t kRegisters = 16;

/// Registers of a system call's arguments, on x86-64.
inline constexpr size_t kThirdArgument = 2, kFourthArgument = 10;

/// Code that the kernel maps into every process for system calls that need not enter it.
inline constexpr std::string_view kVdso = "[vdso]";

struct Registers {
  bool known = false;  ///< not of a thread that was about to end, nor of a 32-bit one
  uint64_t ip = 0;     ///< address of the next instruction
  std::array<uint64_t, kRegisters> general{};
};

/// A thread's call path after each further period of CPU time.
struct CpuSample {
  int64_t t_ns = 0;  ///< CLOCK_MONOTONIC
  int32_t pid = 0;
  int32_t tid = 0;
  uint32_t cpu = 0;
  bool in_kernel = false;
  std::vector<uint64_t> stack;         ///< program's current address (in the kernel: where it was entered), then
                                       ///< return addresses, outermost last
  std::vector<uint64_t> kernel_stack;  ///< the kernel's own current address, then return addresses, outermost last;
                                       ///< empty: not in the kernel, or that may not be seen
  Registers registers;
  std::vector<std::byte> stack_copy;  ///< the program's stack, from its stack pointer on; empty: not taken
};

/// A thread's call path when an event had occurred some more times in it.
struct EventSample : CpuSample {
  uint64_t event_id = 0;     ///< the kernel's, of the event that was opened (PERF_EVENT_IOC_ID)
  std::string event;         ///< its name; set by who opened it, as `count` is of kOfPeriod
  uint64_t count = 0;        ///< since the sample before
  bool is_estimate = false;  ///< the kernel's, of kOfRate
};

/// A thread touched a page that was not mapped in its memory.
struct PageFault {
  int64_t t_ns = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  uint32_t cpu = 0;
  uint64_t ip = 0;
  uint64_t address = 0;
};

/// A file's code came into a process's memory.
struct CodeMapped {
  int64_t t_ns = 0;
  int32_t pid = 0;
  uint64_t start = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  ///< offset of `start` in the file
  std::string path;     ///< begins with '/', or is kVdso
  uint64_t inode = 0;   ///< inode of the file; 0: not known
};

/// A process became another program: what was mapped is no more.
struct Executed {
  int64_t t_ns = 0;
  int32_t pid = 0;
};

/// A thread has another name now.
struct Renamed {
  int64_t t_ns = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  std::string name;
};

/// A process began with a copy of its parent's memory.
struct Forked {
  int64_t t_ns = 0;
  int32_t pid = 0;
  int32_t parent = 0;
};

/// The ring was full.
struct Lost {
  int64_t t_ns = 0;
  uint64_t records = 0;
};

using PerfRecord = std::variant<CpuSample, EventSample, PageFault, CodeMapped, Executed, Renamed, Forked, Lost>;

/// The kind of samples of a ring.
enum class PerfEvent : uint8_t {
  kCpuTime = 1,
  kPageFault,
  /// An event has occurred so many times. The sample does not tell the count: the kernel would sample a software event
  /// that is asked for it each time.
  kOfPeriod,
  kOfRate,  ///< an event, so many samples a second: the kernel chooses the period, and says it
};
constexpr bool IsOfEvents(PerfEvent event) { return event == PerfEvent::kOfPeriod || event == PerfEvent::kOfRate; }

/// Sets the attributes of an event that ParsePerfRecord() expects.
/// @param stack_bytes to copy of the program's stack with each sample of a call path, a multiple of 8; x86-64 only
void SetLayout(PerfEvent event, uint32_t stack_bytes, perf_event_attr& attributes);

/// Parses one record with its header. nullopt: another kind, or invalid. @cost 0.1 us
std::optional<PerfRecord> ParsePerfRecord(std::span<const std::byte> bytes, PerfEvent event);

}  // namespace attune::profile
