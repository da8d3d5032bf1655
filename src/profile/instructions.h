#pragma once
/// Instructions of a program around an address, and the loop that it is in (x86-64).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace attune::profile {

/// The code around an address that is looked at.
inline constexpr size_t kCodeBefore = 192, kCodeBehind = 256;

/// General registers in the encoding of instructions.
inline constexpr size_t kStackPointer = 4, kFramePointer = 5;

/// A part of an instruction that reads or writes memory, as code.
struct Operand {
  static constexpr uint8_t kNoRegister = 0xff;

  uint64_t behind = 0;  ///< address of the instruction that follows
  uint16_t bytes = 0;
  bool reads = false;
  bool writes = false;
  uint8_t base = kNoRegister;
  uint8_t index = kNoRegister;
  uint8_t scale = 1;
  int64_t offset = 0;      ///< to be added; corrected for constants added to the registers since
  bool is_atomic = false;  ///< read and written without another CPU between: lock prefix, xchg
};

/// Effect of an instruction on a general register.
struct Change {
  bool is_known = true;  ///< it adds `added`; else it becomes anything
  int64_t added = 0;
};

/// Registers are bits: 0 to 15 general, from kVectors on vectors.
struct Effects {
  static constexpr unsigned kVectors = 16;

  uint64_t reads = 0;
  uint64_t writes = 0;
  bool is_pause = false;  ///< tells the CPU that the thread waits for memory
  bool is_push = false;   ///< writes below the stack pointer: push, call
  bool is_test = false;   ///< an atomic exchange that can fail: xchg, cmpxchg, bts
  bool is_other =
      false;  ///< writes memory but by is_test and the stack's slots, or something else than these registers
};

struct Instruction {
  uint64_t address = 0;
  uint64_t behind = 0;
  std::optional<uint64_t> jumps_to;
  std::optional<uint64_t> calls;  ///< the function; nullopt: it is no call, or which one is known only when it is made
  bool may_go_on = true;          ///< to the instruction behind it
  bool is_branch = false;
  bool is_call = false;
  std::vector<Operand> operands;
  Effects effects;
  std::map<uint8_t, Change> changes;  ///< by register
};

/// The jump back of a loop that begins at `ip`, or at one of the last instructions before it. Forward jumps in the loop
/// are followed, and branches over its exits.
struct BackEdge {
  uint64_t head = 0;
  std::vector<Instruction> body;  ///< from `ip` to the jump
};

#if defined(__x86_64__)
/// nullopt: invalid code.
std::optional<Instruction> Decode(std::span<const uint8_t> code, uint64_t address);

/// The instructions from `from` on, until they end at `end`; empty: they do not.
/// @param code [start, start + code.size())
std::vector<Instruction> DecodeUpTo(std::span<const uint8_t> code, uint64_t start, uint64_t from, uint64_t end);

/// The instructions before `end`. Where instructions begin is known only there: code read from several places falls
/// into step after a few of them, and what most agree on is it.
/// @param code [start, start + code.size())
std::vector<Instruction> DecodeBack(std::span<const uint8_t> code, uint64_t start, uint64_t end);

/// The innermost loop around `ip`: forward jumps are followed, and branches both ways.
/// @param before DecodeBack() of `ip`  @return nullopt: there is no loop, or it is longer than what is looked at
std::optional<BackEdge> FindLoop(std::span<const uint8_t> code, uint64_t start, uint64_t ip,
                                 const std::vector<Instruction>& before);
#endif

}  // namespace attune::profile
