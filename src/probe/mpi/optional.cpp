/// Programs that may be used with MPI or without ask by a weak reference whether it is there. Ours are always there: so
/// where there is no library of MPI when the program starts, such references are made empty again, as they would be
/// without us. (What is loaded later with weak references finds ours.)

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "probe/hook/exports.h"

namespace attune::probe::mpi {
namespace {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker gives these names
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));
extern "C" const char _end __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)

#if defined(__x86_64__)
bool IsReference(uint64_t type) {
  return type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT || type == R_X86_64_64;
}
#else
bool IsReference(uint64_t type) {
  return type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_ABS64;
}
#endif

/// Tables of a module that list its references.
struct References {
  uint64_t bias = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const ElfW(Rela) * tables[2] = {};
  uint64_t bytes[2] = {};
};

References ReferencesOf(const dl_phdr_info& info) {
  References references;
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  }
  references.bias = info.dlpi_addr;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    const uint64_t value = dynamic->d_un.d_val;
    const uint64_t address =
        value < info.dlpi_addr ? info.dlpi_addr + value : value;  // the kernel's own are as in the file
    if (dynamic->d_tag == DT_SYMTAB) references.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (dynamic->d_tag == DT_STRTAB) references.texts = reinterpret_cast<const char*>(address);
    if (dynamic->d_tag == DT_GNU_HASH) references.gnu_hash = reinterpret_cast<const uint32_t*>(address);
    if (dynamic->d_tag == DT_RELA) references.tables[0] = reinterpret_cast<const ElfW(Rela)*>(address);
    if (dynamic->d_tag == DT_RELASZ) references.bytes[0] = value;
    if (dynamic->d_tag == DT_JMPREL) references.tables[1] = reinterpret_cast<const ElfW(Rela)*>(address);
    if (dynamic->d_tag == DT_PLTRELSZ) references.bytes[1] = value;
  }
  return references;
}

bool IsWeakAndOfMpi(const References& references, uint64_t index) {
  const ElfW(Sym)& symbol = references.symbols[index];
  if (symbol.st_info >> 4 != STB_WEAK || symbol.st_shndx != SHN_UNDEF) return false;
  const char* name = references.texts + symbol.st_name;
  return strncmp(name, "MPI_", 4) == 0 || strncmp(name, "PMPI_", 5) == 0 || strncmp(name, "mpi_", 4) == 0;
}

/// Symbols of others come first in the table: those behind are the module's own. Where there are none of these, the
/// linker does not say how many there are.
bool MayHaveAny(const References& references) {
  if (references.symbols == nullptr || references.texts == nullptr) return false;
  if (references.gnu_hash == nullptr || references.gnu_hash[1] <= 1) return true;
  for (uint32_t index = 1; index < references.gnu_hash[1]; ++index) {
    if (IsWeakAndOfMpi(references, index)) return true;
  }
  return false;
}

/// The loader may have made the page read-only.
void Empty(uint64_t* place, bool is_protected) {
  const uint64_t target = *place;
  if (target < reinterpret_cast<uintptr_t>(&__ehdr_start) || target >= reinterpret_cast<uintptr_t>(&_end)) return;
  const uint64_t page_bytes = getauxval(AT_PAGESZ);
  auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(place) / page_bytes * page_bytes);
  if (is_protected && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
  *place = 0;
  if (is_protected) mprotect(page, page_bytes, PROT_READ);
}

bool IsProtected(const dl_phdr_info& info, uint64_t address) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    const uint64_t start = info.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_RELRO && address >= start && address < start + part.p_memsz) return true;
  }
  return false;
}

int EmptyIn(dl_phdr_info* info, size_t, void*) {
  const References references = ReferencesOf(*info);
  if (!MayHaveAny(references)) return 0;
  for (int table = 0; table < 2; ++table) {
    for (uint64_t i = 0; references.tables[table] != nullptr && i < references.bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& relocation = references.tables[table][i];
      if (!IsReference(ELF64_R_TYPE(relocation.r_info)) || !IsWeakAndOfMpi(references, ELF64_R_SYM(relocation.r_info)))
        continue;
      const uint64_t place = references.bias + relocation.r_offset;
      Empty(reinterpret_cast<uint64_t*>(place), IsProtected(*info, place));
    }
  }
  return 0;
}

/// Before the program's own constructors.
[[gnu::constructor(104)]] void EmptyReferences() {
  const int saved_errno = errno;
  hook::LoadedModule module;
  if (!hook::FindAnyExporter("PMPI_Comm_size", module)) dl_iterate_phdr(&EmptyIn, nullptr);
  errno = saved_errno;
}

}  // namespace
}  // namespace attune::probe::mpi
