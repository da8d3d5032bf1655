#pragma once
/// Bounds of functions from the unwind table of a file (.eh_frame), which is loaded with the code and survives
/// stripping.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace attune::symbols {

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;  ///< the first address behind it

  bool operator==(const CodeRange&) const = default;
};

/// @thread any, once made
class UnwindTable {
 public:
  UnwindTable() = default;
  /// Parses a table. Relocatable and indirect addresses, and everything after damage, are left out.
  /// @param section the bytes of .eh_frame  @param address where it lies in the file's addresses
  /// @param pointer_bytes 8, or 4 of a 32-bit file
  /// @cost 30 ns a function
  UnwindTable(std::span<const std::byte> section, uint64_t address, size_t pointer_bytes);

  /// The function, or the moved part of one (`.cold`), that contains an address.
  std::optional<CodeRange> At(uint64_t address) const;
  std::span<const CodeRange> ranges() const { return ranges_; }

 private:
  std::vector<CodeRange> ranges_;  ///< by begin, each once
};

}  // namespace attune::symbols
