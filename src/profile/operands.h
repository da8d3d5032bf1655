#pragma once
/// Memory accesses of the instructions around a sample: decoded from the program's code, with addresses from the
/// sample's registers.
///
/// The kernel stops a thread between two instructions, mostly behind the slow one. So the last executed instruction
/// comes first, then those before it, then the next one. If a register was changed after the access, known constants
/// that were added to it are subtracted again (a loop over an array); any other change makes the access unknown.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "profile/instructions.h"
#include "profile/perf_record.h"

namespace attune::profile {

/// One memory access of a sample.
struct Access {
  uint64_t address = 0;  ///< address of its first byte
  uint64_t behind = 0;   ///< as Operand::behind
  uint16_t bytes = 0;
  bool reads = false;
  bool writes = false;
  bool is_atomic = false;  ///< as Operand::is_atomic
};

/// Whether DecodeOperands() is implemented: on x86-64 only.
bool CanDecode();

/// @param code of a program, [start, start + code.size()) @param ip where a thread was
/// @return nearest first, at most kMaxOperands; empty: none, or invalid code @cost 10 us
std::vector<Operand> DecodeOperands(std::span<const uint8_t> code, uint64_t start, uint64_t ip);

inline constexpr size_t kMaxOperands = 4;

/// nullopt: its registers are not known, or it is of the thread's own stack.
std::optional<Access> Resolve(const Operand& operand, const Registers& registers);

}  // namespace attune::profile
