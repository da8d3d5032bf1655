#pragma once
/// Which memory the instructions around a sample use: decoded from the program's code, at the addresses that the
/// sample's registers give.
///
/// The kernel stops a thread between two instructions, mostly behind the one that took long. So the one that was done
/// last comes first, then those before it, then the next. A register that was changed meanwhile has not the value any
/// more that the address was made of: known amounts that were added to it are taken off again (a loop that goes through
/// an array), anything else makes that access unknown.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/perf_record.h"

namespace attune::profile {

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
  int64_t offset = 0;  ///< to be added; what was added to the registers since is taken off
};

/// What a sample shows of one access.
struct Access {
  uint64_t address = 0;  ///< of its first byte
  uint64_t behind = 0;   ///< as Operand::behind
  uint16_t bytes = 0;
  bool reads = false;
  bool writes = false;
};

/// Whether DecodeOperands() can do anything: for x86-64 alone.
bool CanDecode();

/// The code around this address that DecodeOperands() looks at.
inline constexpr size_t kCodeBefore = 96, kCodeBehind = 256;

/// @param code of a program, [start, start + code.size()) @param ip where a thread was
/// @return nearest first, at most kMaxOperands; empty: none, or code that makes no sense @cost 10 us
std::vector<Operand> DecodeOperands(std::span<const uint8_t> code, uint64_t start, uint64_t ip);

inline constexpr size_t kMaxOperands = 4;

/// nullopt: its registers are not known, or it is of the thread's own stack.
std::optional<Access> Resolve(const Operand& operand, const Registers& registers);

}  // namespace attune::profile
