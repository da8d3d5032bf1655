#pragma once
/// Loops that only wait for memory to be changed by somebody else, recognised by their instructions.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attune::profile {

/// The code of a function from its first instruction on, kFunctionBytes or fewer.
using ReadFunction = std::function<std::vector<uint8_t>(uint64_t address)>;
inline constexpr size_t kFunctionBytes = 512;

/// Whether the loop around an address can only be ended by somebody else: it has a `pause`, or each round does the same
/// as the one before. That is so if it reads memory, writes nothing but by tests of a lock (xchg, cmpxchg, bts), calls
/// only functions that do no more, and no register or slot of the stack carries a value from one round to the next. So
/// a loop that counts, adds up, follows pointers or reads the clock is none.
/// @param code of a program, [start, start + code.size())
/// @param ip where a thread was, or where it returns to: in a function that the loop calls, as code without
/// optimisation
///           does for each access of an atomic, the loop is that of a caller
/// @param read for functions that are called; empty: a loop that calls any is none
/// @return false also where the code is invalid, or not of x86-64 @cost 10 us, and 10 us for each function
bool IsSpinning(std::span<const uint8_t> code, uint64_t start, uint64_t ip, const ReadFunction& read = {});

}  // namespace attune::profile
