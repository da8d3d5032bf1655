#include "symbols/exported_symbol.h"

#include <gelf.h>
#include <libelf.h>

#include <memory>

namespace attune::symbols {

std::optional<ExportedSymbol> FindExportedSymbol(int fd, std::string_view name) {
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(elf_begin(fd, ELF_C_READ, nullptr), &elf_end);
  for (Elf_Scn* section = nullptr; elf != nullptr && (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (symbol.st_shndx == SHN_UNDEF) continue;
      const char* text = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      if (text != nullptr && name == text) return ExportedSymbol{symbol.st_value, symbol.st_size};
    }
  }
  return std::nullopt;
}

}  // namespace attune::symbols
