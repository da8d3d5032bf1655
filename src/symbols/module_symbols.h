#pragma once
/// Symbols of a module, one after the other.

#include <elfutils/libdwfl.h>
#include <gelf.h>

namespace attune::symbols {

struct ModuleSymbol {
  const char* name = "";
  GElf_Sym entry{};
  GElf_Addr begin = 0;    ///< as libdwfl counts it
  GElf_Word section = 0;  ///< its number in `elf`
  Elf* elf = nullptr;
  int number = 0;  ///< in the module
};

/// Visits those that have a name. @cost 0.1 us each
template <typename Visit>
void ForEachSymbol(Dwfl_Module* module, const Visit& visit) {
  const int count = dwfl_module_getsymtab(module);
  for (int number = 1; number < count; ++number) {  // 0 is no symbol
    ModuleSymbol symbol{.number = number};
    symbol.name =
        dwfl_module_getsym_info(module, number, &symbol.entry, &symbol.begin, &symbol.section, &symbol.elf, nullptr);
    if (symbol.name != nullptr && *symbol.name != '\0') visit(symbol);
  }
}

/// The linkage name of a symbol by its number.
inline const char* SymbolName(Dwfl_Module* module, int number) {
  GElf_Sym entry;
  GElf_Addr begin = 0;
  return dwfl_module_getsym_info(module, number, &entry, &begin, nullptr, nullptr, nullptr);
}

}  // namespace attune::symbols
