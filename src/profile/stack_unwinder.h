#pragma once
/// The call path of a sample, from the registers and the copy of the stack that the kernel took with it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "profile/perf_record.h"
#include "symbols/call_frames.h"

namespace attune::profile {

/// Code that a process has in memory at some address.
struct LoadedCode {
  symbols::CallFrames* frames = nullptr;  ///< nullptr: nothing is known of it
  uint64_t bias = 0;                      ///< address in memory less that in the file
};
using FindCode = std::function<LoadedCode(uint64_t address)>;

/// The registers that functions keep for their callers, as far as they are known: rbx, rbp, r12 to r15.
using FrameRegisters = std::array<std::optional<uint64_t>, 6>;

/// A function's part of the stack: from its stack pointer to that of its caller.
struct StackPart {
  uint64_t begin = 0, end = 0;
  FrameRegisters registers;
};
/// @param index among UnwoundStack::addresses
using SeeFrame = std::function<void(size_t index, const StackPart& part)>;

enum class StackEnd : uint8_t {
  kOutermost,  ///< the function that has no caller
  kNotCopied,  ///< the copy of the stack ended before
  kNoRule,     ///< nothing says how to find the caller
};

struct UnwoundStack {
  std::vector<uint64_t> addresses;  ///< current address, then return addresses, outermost last; at least one
  StackEnd end = StackEnd::kNoRule;
};

/// More frames than this are cut off.
inline constexpr size_t kMaxFrames = 1024;

/// Whether this machine's stacks can be unwound; else call paths are those that the kernel finds by frame pointers.
bool CanUnwind();

/// Goes from caller to caller: by the unwind rules of each function, where there are none by its frame pointer.
/// @pre sample.registers.known, CanUnwind()
/// @param find what lies at an address of the process
/// @param see called for each function whose caller was found, behind `find` of its address  @cost 0.3 us a frame
UnwoundStack Unwind(const CpuSample& sample, const FindCode& find, const SeeFrame& see = nullptr);

}  // namespace attune::profile
