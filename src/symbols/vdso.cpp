#include "symbols/vdso.h"

#include <elf.h>
#include <gelf.h>
#include <sys/auxv.h>

#include <memory>

namespace attune::symbols {

std::span<const std::byte> OwnVdso() {
  const unsigned long address = getauxval(AT_SYSINFO_EHDR);
  if (address == 0) return {};
  const auto* head = reinterpret_cast<const Elf64_Ehdr*>(address);  // NOLINT(performance-no-int-to-ptr): the kernel's
  // Its section headers are the last that the linker wrote.
  return {reinterpret_cast<const std::byte*>(head), head->e_shoff + size_t{head->e_shnum} * head->e_shentsize};
}

std::string VdsoFunction(uint64_t address) {
  elf_version(EV_CURRENT);
  const auto image = OwnVdso();
  // libelf writes nothing to an image of memory that it only reads.
  auto* bytes = const_cast<char*>(reinterpret_cast<const char*>(image.data()));
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_memory(bytes, image.size()), &elf_end);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; data != nullptr && gelf_getsym(data, i, &symbol) != nullptr; ++i) {
      if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || address < symbol.st_value ||
          address - symbol.st_value >= symbol.st_size)
        continue;
      const char* name = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      if (name != nullptr) return name;
    }
  }
  return "";
}

}  // namespace attune::symbols
