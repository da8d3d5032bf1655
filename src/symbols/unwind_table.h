#pragma once
/// Where functions begin and end, by what a file says for unwinding (.eh_frame): it is loaded with the code, so that it
/// is there when symbols have been stripped.

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
  /// What cannot be understood is left out: relocatable and indirect addresses, and all behind damage.
  /// @param section the bytes of .eh_frame  @param address where it lies in the file's addresses
  /// @param pointer_bytes 8, or 4 of a 32-bit file
  /// @cost 30 ns a function
  UnwindTable(std::span<const std::byte> section, uint64_t address, size_t pointer_bytes);

  /// The function, or the part of one that lies elsewhere (`.cold`), that an address is in.
  std::optional<CodeRange> At(uint64_t address) const;
  std::span<const CodeRange> ranges() const { return ranges_; }

 private:
  std::vector<CodeRange> ranges_;  ///< by begin, each once
};

}  // namespace attune::symbols
