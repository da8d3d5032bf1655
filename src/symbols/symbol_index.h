#pragma once
/// Symbols of a module by address. dwfl_module_addrinfo() reads all symbols again at each call, and of code without a
/// symbol of its own size it tells the first symbol, not the last one before it.

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
    int rank;          ///< the smaller, the better
    int number;        ///< in the module
  };

  std::string NameOf(const Symbol& symbol) const;

  Dwfl_Module* module_;
  std::vector<Symbol> symbols_;   ///< with a size, by begin
  std::vector<Symbol> sizeless_;  ///< without one, by begin; `end`: of their section
};

}  // namespace attune::symbols
