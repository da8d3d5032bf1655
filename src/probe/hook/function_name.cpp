#include "probe/hook/function_name.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "probe/core.h"
#include "probe/hook/real.h"

namespace attune::probe::hook {
namespace {

/// All reads of a process together: a tenth of a second.
constexpr uint64_t kMostSymbols = 20'000'000;
constinit uint64_t g_symbols_read = 0;

class File {
 public:
  explicit File(const char* path)
      : file_(static_cast<int>(g_real.syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                                              O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0))) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ >= 0) g_real.close(file_);
  }

  bool Read(void* to, size_t bytes, uint64_t at) const {
    return file_ >= 0 && g_real.pread(file_, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
  }

 private:
  const int file_;
};

/// The full table, or what is left in a stripped file.
bool FindSymbolTable(const File& file, ElfW(Shdr) & symbols, ElfW(Shdr) & texts) {
  ElfW(Ehdr) header;
  if (!file.Read(&header, sizeof header, 0) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_shentsize != sizeof(ElfW(Shdr)))
    return false;
  bool is_found = false;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) section;
    if (!file.Read(&section, sizeof section, header.e_shoff + i * sizeof section)) return false;
    if (section.sh_type != SHT_SYMTAB && (section.sh_type != SHT_DYNSYM || is_found)) continue;
    if (section.sh_link >= header.e_shnum || section.sh_entsize != sizeof(ElfW(Sym))) continue;
    if (!file.Read(&texts, sizeof texts, header.e_shoff + section.sh_link * sizeof texts)) return false;
    symbols = section;
    is_found = true;
    if (section.sh_type == SHT_SYMTAB) break;
  }
  return is_found;
}

/// @return its name's place among the texts; 0: there is none
uint64_t FindSymbol(const File& file, const ElfW(Shdr) & table, uint64_t offset) {
  constexpr uint64_t kAtOnce = 64;  // on what may be a small stack
  ElfW(Sym) symbols[kAtOnce];
  const uint64_t count = table.sh_size / sizeof symbols[0];
  for (uint64_t i = 0; i < count; i += kAtOnce) {
    const uint64_t some = count - i < kAtOnce ? count - i : kAtOnce;
    if (!file.Read(symbols, some * sizeof symbols[0], table.sh_offset + i * sizeof symbols[0])) return 0;
    for (uint64_t j = 0; j < some; ++j) {
      const ElfW(Sym)& symbol = symbols[j];
      if ((symbol.st_info & 0xf) == STT_FUNC && symbol.st_shndx != SHN_UNDEF && offset >= symbol.st_value &&
          offset - symbol.st_value < symbol.st_size)
        return symbol.st_name;
    }
  }
  return 0;
}

bool Find(const ModuleBounds& bounds, uint64_t address, char* name, size_t room) {
  const File file(bounds.path[0] != '\0' ? bounds.path : "/proc/self/exe");
  ElfW(Shdr) symbols;
  ElfW(Shdr) texts;
  if (!FindSymbolTable(file, symbols, texts)) return false;
  const uint64_t many = symbols.sh_size / sizeof(ElfW(Sym));
  if (__atomic_add_fetch(&g_symbols_read, many, __ATOMIC_RELAXED) > kMostSymbols) return false;
  const uint64_t text = FindSymbol(file, symbols, address - bounds.bias);
  if (text == 0 || text >= texts.sh_size) return false;
  const uint64_t left = texts.sh_size - text;
  const size_t bytes = left < room - 1 ? left : room - 1;
  if (!file.Read(name, bytes, texts.sh_offset + text)) return false;
  name[bytes] = '\0';
  return true;
}

}  // namespace

bool FindFunctionName(const ModuleBounds& bounds, uint64_t address, char* name, size_t room) {
  if (attune_probe_is_sandboxed != 0) return false;
  const int saved_errno = errno;
  const bool is_found = Find(bounds, address, name, room);
  errno = saved_errno;
  return is_found;
}

}  // namespace attune::probe::hook
