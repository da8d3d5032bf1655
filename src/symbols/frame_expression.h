#pragma once
/// Evaluates DWARF expressions of unwind rules: those of procedure linkage tables, signal frames and stacks that were
/// aligned anew.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace attune::symbols {

struct FrameValues {
  std::function<std::optional<uint64_t>(uint64_t column)> read_register;
  std::function<std::optional<uint64_t>(uint64_t address)> read_memory;  ///< a word of 8 bytes
};

/// @param initial on the expression's stack before it begins: the CFA
/// @return nullopt: damaged, an operation that no unwind rule has, or a value that is not known. @cost 10 ns an
/// operation
std::optional<uint64_t> EvaluateFrameExpression(std::span<const std::byte> expression, std::optional<uint64_t> initial,
                                                const FrameValues& values);

}  // namespace attune::symbols
