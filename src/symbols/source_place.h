#pragma once
/// Files and lines of addresses, by the debug information of the unit that they are in.

#include <elfutils/libdw.h>

#include <span>
#include <string>
#include <vector>

namespace attune::symbols {

struct SourcePlace {
  std::string file;  ///< "": not known
  int line = 0;      ///< 0: not known
};

/// Appends the inlined functions that an address in `scope` is part of, the innermost last.
void AddInlined(Dwarf_Die& scope, Dwarf_Addr address, std::vector<Dwarf_Die>& chain);

/// Call site of an inlined function.
SourcePlace CallSiteOf(Dwarf_Die* unit, Dwarf_Die* inlined);

/// Source line of the code at an address. gcc gives a call that it makes of a pragma the line before, even one of an
/// inlined function: then this is the line after.
/// @param chain the function that the address is in, and the inlined ones (AddInlined)
SourcePlace PlaceOf(Dwarf_Die* unit, std::span<Dwarf_Die> chain, Dwarf_Addr address);

}  // namespace attune::symbols
