#pragma once
/// A program's entry, which a stripped file has too.

#include <libelf.h>

#include <cstdint>
#include <optional>

namespace attune::symbols {

struct ProgramEntry {
  uint64_t start = 0;  ///< _start, which the kernel or the loader jumps to
  uint64_t main = 0;   ///< 0: not known
};

/// nullopt: it is no program (a library), or no file of x86-64. main() is what the C library's start code passes on.
/// @param elf may be nullptr  @cost 2 us
std::optional<ProgramEntry> ReadProgramEntry(Elf* elf);

}  // namespace attune::symbols
