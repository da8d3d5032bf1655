#include "symbols/symbol_index.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace attune::symbols {
namespace {

/// The symbol that others can refer to is named, of two for the same code.
int RankOf(const GElf_Sym& symbol) {
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL: return 0;
    case STB_WEAK: return 1;
    default: return 2;
  }
}

bool IsPlace(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

}  // namespace

SymbolIndex::SymbolIndex(Dwfl_Module* module) : module_(module) {
  const int count = dwfl_module_getsymtab(module);
  for (int number = 1; number < count; ++number) {  // 0 is no symbol
    GElf_Sym symbol;
    GElf_Addr begin = 0;
    const char* name = dwfl_module_getsym_info(module, number, &symbol, &begin, nullptr, nullptr, nullptr);
    if (name == nullptr || *name == '\0' || !IsPlace(symbol)) continue;
    if (symbol.st_size == 0) {
      sizeless_.push_back(begin);
    } else {
      symbols_.push_back({begin, begin + symbol.st_size, 0, RankOf(symbol), number});
    }
  }
  std::ranges::sort(sizeless_);
  std::ranges::sort(symbols_, {}, [](const Symbol& s) { return std::tuple(s.begin, -s.binding, -s.number); });
  Dwarf_Addr reach = 0;
  for (Symbol& symbol : symbols_) symbol.reach = reach = std::max(reach, symbol.end);
}

std::string SymbolIndex::At(Dwarf_Addr address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  for (auto at = std::make_reverse_iterator(after); at != symbols_.rend(); ++at) {
    if (address < at->end) {
      GElf_Sym symbol;
      GElf_Addr begin = 0;
      return dwfl_module_getsym_info(module_, at->number, &symbol, &begin, nullptr, nullptr, nullptr);
    }
    if (at->reach <= address) break;  // nor do those before it
  }
  // A symbol without a size, as those of assembly are, has what lies behind it up to the next one, in its section
  // alone.
  const Dwarf_Addr reach = after == symbols_.begin() ? 0 : std::prev(after)->reach;
  const auto sizeless = std::ranges::upper_bound(sizeless_, address);
  if (sizeless == sizeless_.begin() || *std::prev(sizeless) < reach) return "";
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* name = dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr);
  return name != nullptr ? name : "";
}

}  // namespace attune::symbols
