#pragma once
/// Symbols of a module by address, as dwfl_module_addrinfo() finds them, which reads all symbols again at each call.

#include <elfutils/libdwfl.h>

#include <optional>
#include <string>
#include <vector>

namespace attune::symbols {

class SymbolIndex {
 public:
  /// @param module lives longer  @cost 0.1 us a symbol
  explicit SymbolIndex(Dwfl_Module* module);

  /// The linkage name of the symbol that has an address; of several, the one that begins last, and of those a global
  /// one. "": none. @param address as libdwfl counts it
  std::string At(Dwarf_Addr address) const;

 private:
  struct Symbol {
    Dwarf_Addr begin, end;
    Dwarf_Addr reach;  ///< the largest `end` of all up to this one
    int binding;       ///< the smaller, the better
    int number;        ///< in the module
  };

  Dwfl_Module* module_;
  std::vector<Symbol> symbols_;       ///< with a size, by begin
  std::vector<Dwarf_Addr> sizeless_;  ///< begins of those without one, ascending
};

}  // namespace attune::symbols
