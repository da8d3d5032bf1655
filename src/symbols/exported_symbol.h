#pragma once
/// Functions and variables that a program or library offers to others, which a stripped file has too.

#include <cstdint>
#include <optional>
#include <string_view>

namespace attune::symbols {

struct ExportedSymbol {
  uint64_t address = 0;  ///< in the file
  uint64_t bytes = 0;
};

/// nullopt: there is none of that name, or it is no ELF file. @cost 50 ns a name of the file
std::optional<ExportedSymbol> FindExportedSymbol(int fd, std::string_view name);

}  // namespace attune::symbols
