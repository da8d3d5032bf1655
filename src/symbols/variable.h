#pragma once
/// Variables in the memory of a process: where they lie, and their values as text.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attune::symbols {

/// Reads memory of a process. @return false: not all of it is there
using ReadMemory = std::function<bool(uint64_t address, std::span<std::byte> into)>;

/// A scalar, or an array of char that holds a text.
struct Variable {
  enum class Kind : uint8_t { kSigned, kUnsigned, kBool, kFloat, kPointer, kText };

  uint64_t address = 0;
  Kind kind = Kind::kSigned;
  size_t bytes = 0;                                    ///< 1, 2, 4 or 8; of a text all that its array has
  std::string type;                                    ///< as the source names it; "": not known
  std::vector<std::pair<std::string, int64_t>> words;  ///< words of an enumeration

  bool operator==(const Variable&) const = default;
};

/// Longest text of a variable.
inline constexpr size_t kMaxTextBytes = size_t{64} << 10;

/// The value for people: "-3", "0.25", "true", "kFast", "a text". @pre bytes.size() == variable.bytes
std::string ToText(const Variable& variable, std::span<const std::byte> bytes);
/// Bytes to be written for a value; a text with the zero behind it. Error: kInvalidArgument, with what it takes
Result<std::vector<std::byte>> FromText(const Variable& variable, std::string_view text);

}  // namespace attune::symbols
