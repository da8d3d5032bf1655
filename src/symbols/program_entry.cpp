#include "symbols/program_entry.h"

#include <gelf.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace attune::symbols {
namespace {

/// The C library's start code is shorter.
constexpr size_t kStartBytes = 64;
/// lea main(%rip),%rdi and mov $main,%rdi: what __libc_start_main() gets first.
constexpr std::array<uint8_t, 3> kLea{0x48, 0x8d, 0x3d}, kMove{0x48, 0xc7, 0xc7};

bool IsPie(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Dyn entry;
    for (int i = 0; data != nullptr && gelf_getdyn(data, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i) {
      if (entry.d_tag == DT_FLAGS_1) return (entry.d_un.d_val & DF_1_PIE) != 0;
    }
  }
  return false;
}

/// The code at an address; nullptr: the file has none there.
const uint8_t* CodeAt(Elf* elf, uint64_t address) {
  size_t parts = 0;
  if (elf_getphdrnum(elf, &parts) != 0) return nullptr;
  for (size_t i = 0; i < parts; ++i) {
    GElf_Phdr part;
    if (gelf_getphdr(elf, static_cast<int>(i), &part) == nullptr || part.p_type != PT_LOAD) continue;
    if (address < part.p_vaddr || address - part.p_vaddr + kStartBytes > part.p_filesz) continue;
    const Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<int64_t>(part.p_offset + (address - part.p_vaddr)),
                                                kStartBytes, ELF_T_BYTE);
    return data != nullptr && data->d_size == kStartBytes ? static_cast<const uint8_t*>(data->d_buf) : nullptr;
  }
  return nullptr;
}

}  // namespace

std::optional<ProgramEntry> ReadProgramEntry(Elf* elf) {
  GElf_Ehdr header;
  if (elf == nullptr || gelf_getehdr(elf, &header) == nullptr || header.e_machine != EM_X86_64 || header.e_entry == 0)
    return std::nullopt;
  if (header.e_type != ET_EXEC && !IsPie(elf)) return std::nullopt;
  ProgramEntry entry{.start = header.e_entry};
  const uint8_t* code = CodeAt(elf, entry.start);
  for (size_t at = 0; code != nullptr && at + 7 <= kStartBytes; ++at) {
    int32_t value = 0;
    std::memcpy(&value, code + at + 3, sizeof value);
    if (std::memcmp(code + at, kLea.data(), kLea.size()) == 0)
      entry.main = entry.start + at + 7 + static_cast<uint64_t>(int64_t{value});
    if (std::memcmp(code + at, kMove.data(), kMove.size()) == 0) entry.main = static_cast<uint64_t>(int64_t{value});
    if (entry.main != 0) break;
  }
  return entry;
}

}  // namespace attune::symbols
