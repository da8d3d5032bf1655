#include "symbols/symbol_index.h"

#include <elf.h>
#include <gelf.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>

#include "symbols/module_symbols.h"

namespace attune::symbols {
namespace {

/// A function is named, of several symbols for the same code, and the one that others can refer to.
int RankOf(const GElf_Sym& symbol) {
  const int without_type = GELF_ST_TYPE(symbol.st_info) == STT_NOTYPE ? 3 : 0;
  switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL: return without_type;
    case STB_WEAK: return without_type + 1;
    default: return without_type + 2;
  }
}

/// Whether a symbol only says what kind of bytes begin there, as those of ARM's assemblers do ($x, $d.1).
bool IsMapping(std::string_view name) {
  return name.size() >= 2 && name[0] == '$' && (name.size() == 2 || name[2] == '.');
}

bool IsPlace(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && type != STT_SECTION && type != STT_FILE && type != STT_TLS;
}

/// The distance from a value to the end of its section; nullopt: it is in none.
std::optional<GElf_Xword> EndOfSection(Elf* elf, GElf_Word number, GElf_Addr value) {
  GElf_Shdr section;
  if (elf == nullptr || gelf_getshdr(elf_getscn(elf, number), &section) == nullptr) return std::nullopt;
  if ((section.sh_flags & SHF_ALLOC) == 0 || value < section.sh_addr || value - section.sh_addr >= section.sh_size)
    return std::nullopt;
  return section.sh_size - (value - section.sh_addr);
}

}  // namespace

SymbolIndex::SymbolIndex(Dwfl_Module* module) : module_(module) {
  ForEachSymbol(module, [this](const ModuleSymbol& symbol) {
    if (!IsPlace(symbol.entry)) return;
    const int rank = RankOf(symbol.entry);
    if (symbol.entry.st_size != 0) {
      symbols_.push_back({symbol.begin, symbol.begin + symbol.entry.st_size, 0, rank, symbol.number});
    } else if (const auto end = EndOfSection(symbol.elf, symbol.section, symbol.entry.st_value);
               end && !IsMapping(symbol.name)) {
      sizeless_.push_back({symbol.begin, symbol.begin + *end, 0, rank, symbol.number});
    }
  });
  const auto best_last = [](const Symbol& s) { return std::tuple(s.begin, -s.rank, -s.number); };
  std::ranges::sort(sizeless_, {}, best_last);
  std::ranges::sort(symbols_, {}, best_last);
  Dwarf_Addr reach = 0;
  for (Symbol& symbol : symbols_) symbol.reach = reach = std::max(reach, symbol.end);
}

std::string SymbolIndex::At(Dwarf_Addr address) const {
  const auto after = std::ranges::upper_bound(symbols_, address, {}, &Symbol::begin);
  for (auto at = std::make_reverse_iterator(after); at != symbols_.rend(); ++at) {
    if (address < at->end) return NameOf(*at);
    if (at->reach <= address) break;  // nor do those before it
  }
  // A symbol without a size, as those of assembly are, has what lies behind it up to the next one, in its section
  // alone.
  const Dwarf_Addr reach = after == symbols_.begin() ? 0 : std::prev(after)->reach;
  const auto behind = std::ranges::upper_bound(sizeless_, address, {}, &Symbol::begin);
  if (behind == sizeless_.begin()) return "";
  const Symbol& sizeless = *std::prev(behind);
  return sizeless.begin >= reach && address < sizeless.end ? NameOf(sizeless) : "";
}

std::string SymbolIndex::NameOf(const Symbol& symbol) const { return SymbolName(module_, symbol.number); }

}  // namespace attune::symbols
