#pragma once
/// Loops of Python that only another thread or process can end.

#include <cstddef>
#include <cstdint>
#include <span>

namespace attune::profile {

/// Whether an instruction of CPython 3.11 is in a loop that loads and compares, and neither calls, stores nor takes a
/// next item: each round does the same as the one before. @param code of a function, two bytes an instruction, as it is
/// or as the interpreter has specialised it  @param index of an instruction  @cost 2 ns an instruction of the function
bool IsPythonSpinning(std::span<const uint8_t> code, size_t index);

}  // namespace attune::profile
