#include "probe/hook/fitness.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/core.h"
#include "probe/hook/real.h"
#include "wire/preload.h"

/// ELF header of the library itself, from the linker: a fitting program has the same class, byte order and machine.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace attune::probe::hook {
namespace {

using wire::LeftAlone;

constexpr char kVariable[] = "LD_PRELOAD=";
constexpr size_t kVariableBytes = sizeof(kVariable) - 1;
/// A script's interpreter may be a script, and so on; the kernel follows four.
constexpr int kMaxScripts = 4;
constexpr size_t kMaxScriptLine = 256;
constexpr int kMaxSegments = 64;
constexpr int kMaxDynamicEntries = 4096;

/// As the C library's functions, which are cancellation points, where execve is none.
long Call(long number, long a, long b = 0, long c = 0, long d = 0) { return g_real.syscall(number, a, b, c, d, 0, 0); }

bool ReadAt(int file, uint64_t at, void* to, size_t bytes) {
  return Call(SYS_pread64, file, reinterpret_cast<long>(to), static_cast<long>(bytes), static_cast<long>(at)) ==
         static_cast<long>(bytes);
}

/// A text of the file; cut where it is longer. @return its length
size_t ReadText(int file, uint64_t at, char* to, size_t room) {
  const long got =
      Call(SYS_pread64, file, reinterpret_cast<long>(to), static_cast<long>(room - 1), static_cast<long>(at));
  to[got > 0 ? got : 0] = '\0';
  return strlen(to);
}

/// An ELF program of this processor and word size, as far as what it is loaded with goes.
struct Program {
  int file;
  ElfW(Ehdr) header;

  bool Segment(int index, ElfW(Phdr) & segment) const {
    return ReadAt(file, header.e_phoff + static_cast<uint64_t>(index) * sizeof segment, &segment, sizeof segment);
  }
  int Segments() const { return header.e_phnum < kMaxSegments ? header.e_phnum : kMaxSegments; }
  bool Find(uint32_t type, ElfW(Phdr) & found) const {
    for (int i = 0; i < Segments(); ++i) {
      if (Segment(i, found) && found.p_type == type) return true;
    }
    return false;
  }
  /// File offset of an address; 0: none.
  uint64_t Offset(uint64_t address) const {
    ElfW(Phdr) part;
    for (int i = 0; i < Segments(); ++i) {
      if (Segment(i, part) && part.p_type == PT_LOAD && address - part.p_vaddr < part.p_filesz)
        return part.p_offset + (address - part.p_vaddr);
    }
    return 0;
  }
};

/// Calls `visit` for each entry of the dynamic section until it gives false.
template <class Visit>
void VisitDynamic(const Program& program, const Visit& visit) {
  ElfW(Phdr) part;
  if (!program.Find(PT_DYNAMIC, part)) return;
  ElfW(Dyn) entry;
  for (int i = 0; i < kMaxDynamicEntries; ++i) {
    if (!ReadAt(program.file, part.p_offset + static_cast<uint64_t>(i) * sizeof entry, &entry, sizeof entry) ||
        entry.d_tag == DT_NULL || !visit(entry))
      return;
  }
}

bool NeedsSanitizer(const Program& program) {
  uint64_t names = 0;
  VisitDynamic(program, [&](const ElfW(Dyn) & entry) {
    if (entry.d_tag == DT_STRTAB) names = program.Offset(entry.d_un.d_ptr);
    return names == 0;
  });
  bool is_needed = false;
  VisitDynamic(program, [&](const ElfW(Dyn) & entry) {
    char name[64];
    if (entry.d_tag == DT_NEEDED && names != 0)
      is_needed = wire::IsSanitizer(name, ReadText(program.file, names + entry.d_un.d_val, name, sizeof name));
    return !is_needed;
  });
  return is_needed;
}

/// -1: it fits, or is nothing that this knows; else a LeftAlone.
int ExamineElf(int file, const char* path) {
  Program program;
  program.file = file;
  ElfW(Ehdr)& header = program.header;
  if (!ReadAt(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return -1;
  if (header.e_ident[EI_CLASS] != __ehdr_start.e_ident[EI_CLASS] ||
      header.e_ident[EI_DATA] != __ehdr_start.e_ident[EI_DATA] || header.e_machine != __ehdr_start.e_machine)
    return static_cast<int>(LeftAlone::kOtherProcessor);
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return -1;
  ElfW(Phdr) part;
  // Without an interpreter it is static, or is one.
  if (!program.Find(PT_INTERP, part))
    return wire::IsMuslLoader(path, strlen(path)) ? static_cast<int>(LeftAlone::kOtherLibrary) : -1;
  char loader[128];
  if (!wire::IsGlibcLoader(loader, ReadText(file, part.p_offset, loader, sizeof loader)))
    return static_cast<int>(LeftAlone::kOtherLibrary);
  return NeedsSanitizer(program) ? static_cast<int>(LeftAlone::kSanitizer) : -1;
}

/// The interpreter that a script's first line names. @return false: it is no script
bool ReadScript(int file, char (&line)[kMaxScriptLine]) {
  const size_t length = ReadText(file, 0, line, sizeof line);
  if (length < 3 || line[0] != '#' || line[1] != '!') return false;
  size_t begin = 2;
  while (line[begin] == ' ' || line[begin] == '\t') ++begin;
  size_t end = begin;
  while (end < length && line[end] != ' ' && line[end] != '\t' && line[end] != '\n' && line[end] != '\r') ++end;
  memmove(line, line + begin, end - begin);
  line[end - begin] = '\0';
  return true;
}

/// As ExamineElf, also of scripts.
[[gnu::noinline]] int Examine(int folder, const char* path) {
  char script[kMaxScriptLine];
  for (int i = 0; i <= kMaxScripts; ++i) {
    const bool is_open = path[0] == '\0';  // the descriptor itself
    const long file =
        is_open ? folder
                : Call(SYS_openat, folder, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return -1;
    const bool is_script = ReadScript(static_cast<int>(file), script);
    const int found = is_script ? -1 : ExamineElf(static_cast<int>(file), path);
    if (!is_open) Call(SYS_close, file);
    if (!is_script) return found;
    path = script;
    folder = AT_FDCWD;
  }
  return -1;
}

bool CanRead(const Preloaded& preloaded) {
  char path[PATH_MAX];
  if (preloaded.length >= sizeof path || memchr(preloaded.library, '/', preloaded.length) == nullptr) return true;
  memcpy(path, preloaded.library, preloaded.length);
  path[preloaded.length] = '\0';
  return Call(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(path), R_OK) == 0 || errno == EMFILE || errno == ENOMEM;
}

void Count(LeftAlone why) {
  if (g_process.header == nullptr) return;
  __atomic_fetch_add(&g_process.header->left_alone[static_cast<int>(why)], 1, __ATOMIC_RELAXED);
}

/// The first library at or behind `at` in a value of LD_PRELOAD. @return its length; 0: there is none
size_t NextLibrary(const char*& at) {
  at += strspn(at, ": ");
  return strcspn(at, ": ");
}

bool IsVariable(const char* entry) { return strncmp(entry, kVariable, kVariableBytes) == 0; }

/// Copies a variable without the probe library; may copy to itself. @return its end; nullptr: no library is left
char* CopyWithoutProbe(char* to, const char* entry) {
  memmove(to, kVariable, kVariableBytes);
  char* out = to + kVariableBytes;
  const char* at = entry + kVariableBytes;
  while (const size_t length = NextLibrary(at)) {
    if (!wire::IsProbeLibrary(at, length)) {
      if (out != to + kVariableBytes) *out++ = ':';
      memmove(out, at, length);
      out += length;
    }
    at += length;
  }
  if (out == to + kVariableBytes) return nullptr;
  *out++ = '\0';
  return out;
}

}  // namespace

Preloaded FindPreloaded(Words environment) {
  for (Words entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    if (!IsVariable(*entry)) continue;
    const char* at = *entry + kVariableBytes;
    while (const size_t length = NextLibrary(at)) {
      if (wire::IsProbeLibrary(at, length)) return {entry, at, static_cast<unsigned>(length)};
      at += length;
    }
  }
  return {};
}

bool MayBePreloaded(const Preloaded& preloaded, int folder, const char* path) {
  // A filter of system calls may kill the process for these.
  if (preloaded.entry == nullptr || attune_probe_is_sandboxed != 0) return true;
  const int saved_errno = errno;
  const int found = wire::MemoryIsScarce() ? static_cast<int>(LeftAlone::kScarceMemory)
                    : CanRead(preloaded)   ? Examine(folder, path)
                                           : static_cast<int>(LeftAlone::kNoProbe);
  errno = saved_errno;
  if (found < 0) return true;
  Count(static_cast<LeftAlone>(found));
  return false;
}

[[gnu::noinline]] bool MayBePreloadedOnPath(const Preloaded& preloaded, const char* file) {
  if (preloaded.entry == nullptr || attune_probe_is_sandboxed != 0) return true;
  if (strchr(file, '/') != nullptr) return MayBePreloaded(preloaded, AT_FDCWD, file);
  const char* left = getenv("PATH");
  if (left == nullptr) left = "/bin:/usr/bin";
  const size_t file_bytes = strlen(file) + 1;
  const int saved_errno = errno;
  char path[PATH_MAX];
  for (bool is_last = false; !is_last;) {
    const size_t length = strcspn(left, ":");
    is_last = left[length] == '\0';
    if (length + 1 + file_bytes <= sizeof path) {
      memcpy(path, left, length);
      size_t at = length;
      if (at > 0) path[at++] = '/';
      memcpy(path + at, file, file_bytes);
      if (Call(SYS_faccessat, AT_FDCWD, reinterpret_cast<long>(path), X_OK) == 0) {
        errno = saved_errno;
        return MayBePreloaded(preloaded, AT_FDCWD, path);
      }
    }
    left += length + 1;
  }
  errno = saved_errno;
  return true;
}

EnvironmentSize SizeWithoutProbe(Words environment) {
  EnvironmentSize size = {1, 0};
  for (; *environment != nullptr; ++environment) {
    ++size.pointers;
    if (IsVariable(*environment)) size.characters += strlen(*environment) + 1;
  }
  return size;
}

Words WithoutProbe(Words environment, char** pointers, char* characters) {
  char** next = pointers;
  for (; *environment != nullptr; ++environment) {
    if (!IsVariable(*environment)) {
      *next++ = *environment;
    } else if (char* end = CopyWithoutProbe(characters, *environment); end != nullptr) {
      *next++ = characters;
      characters = end;
    }
  }
  *next = nullptr;
  return pointers;
}

void LeaveOwnEnvironment() {
  char** kept = environ;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!IsVariable(*entry) || CopyWithoutProbe(*entry, *entry) != nullptr) *kept++ = *entry;
  }
  *kept = nullptr;
}

}  // namespace attune::probe::hook
