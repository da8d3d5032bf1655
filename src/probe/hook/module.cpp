#include "probe/hook/module.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "probe/core.h"

namespace attune::probe::hook {

namespace {

constexpr uint32_t kMaxTold = 256;
constexpr uint64_t kPage = 4096;

/// Module told for the addresses from `start` on. Two threads may tell the same one at once: that is harmless.
struct Told {
  uint64_t start;  ///< 0: free
  uint64_t end;
  uint64_t identity;  ///< Identity() of the module there; 0: something else lay there meanwhile
};
constinit Told g_told[kMaxTold] = {};

/// The program itself has no path in the loader's list.
constinit char g_executable[wire::kRingMaxNameBytes + 2] = {};

struct Module : ModuleBounds {
  unsigned char build_id[24];
  uint16_t build_id_bytes;
};

/// The notes of a mapped segment. @return whether a build-id was found
bool FindBuildId(const char* notes, uint64_t bytes, Module& module) {
  constexpr char kOwner[] = "GNU";
  for (uint64_t at = 0; bytes - at >= sizeof(ElfW(Nhdr)) && at < bytes;) {
    ElfW(Nhdr) note;
    memcpy(&note, notes + at, sizeof note);
    const uint64_t name_at = at + sizeof note;
    const uint64_t text_at = name_at + (uint64_t{note.n_namesz} + 3) / 4 * 4;
    const uint64_t next = text_at + (uint64_t{note.n_descsz} + 3) / 4 * 4;
    if (next > bytes || next <= at) return false;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof kOwner &&
        memcmp(notes + name_at, kOwner, sizeof kOwner) == 0) {
      if (note.n_descsz == 0 || note.n_descsz > wire::kRingMaxBuildIdBytes) return false;
      memcpy(module.build_id, notes + text_at, note.n_descsz);
      module.build_id_bytes = static_cast<uint16_t>(note.n_descsz);
      return true;
    }
    at = next;
  }
  return false;
}

/// From the program headers, which lie in the first page of what is mapped. Only what the headers themselves say to be
/// loaded and readable is looked at.
void ReadBuildId(Module& module) {
  const auto* base = reinterpret_cast<const char*>(module.start);
  ElfW(Ehdr) header;
  memcpy(&header, base, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
      header.e_phoff > kPage || header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > kPage)
    return;
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
  const auto is_loaded = [&](const ElfW(Phdr) & notes) {
    for (int i = 0; i < header.e_phnum; ++i) {
      const ElfW(Phdr)& part = headers[i];
      if (part.p_type == PT_LOAD && (part.p_flags & PF_R) != 0 && notes.p_vaddr >= part.p_vaddr &&
          notes.p_filesz <= part.p_filesz && notes.p_vaddr - part.p_vaddr <= part.p_filesz - notes.p_filesz)
        return true;
    }
    return false;
  };
  for (int i = 0; i < header.e_phnum; ++i) {
    const ElfW(Phdr)& notes = headers[i];
    if (notes.p_type != PT_NOTE || !is_loaded(notes)) continue;
    if (FindBuildId(reinterpret_cast<const char*>(module.bias + notes.p_vaddr), notes.p_filesz, module)) return;
  }
}

bool FindModule(uint64_t address, Module& module) {
  if (!FindBounds(address, module)) return false;
  if (module.path[0] == '\0') module.path = g_executable;
  module.build_id_bytes = 0;
  // A path that does not fit would be another file's.
  if (module.path[0] == '\0' || strnlen(module.path, wire::kRingMaxNameBytes + 1) > wire::kRingMaxNameBytes)
    return false;
  ReadBuildId(module);
  return true;
}

uint64_t Identity(const Module& module) {
  uint64_t hash = UINT64_C(14695981039346656037);  // FNV-1a
  const auto add = [&hash](const void* bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * UINT64_C(1099511628211);
    }
  };
  add(&module.end, sizeof module.end);
  add(&module.bias, sizeof module.bias);
  add(module.path, strnlen(module.path, wire::kRingMaxNameBytes));
  add(module.build_id, module.build_id_bytes);
  return hash | 1;
}

bool WasTold(const Module& module, uint64_t identity) {
  for (const Told& told : g_told) {
    const uint64_t start = __atomic_load_n(&told.start, __ATOMIC_ACQUIRE);
    if (start == 0) return false;
    if (start == module.start && __atomic_load_n(&told.identity, __ATOMIC_RELAXED) == identity) return true;
  }
  return false;
}

/// Forgets modules that lay there before. Beyond kMaxTold places a module is told with every new site.
void Remember(const Module& module, uint64_t identity) {
  bool is_kept = false;
  for (Told& told : g_told) {
    uint64_t start = __atomic_load_n(&told.start, __ATOMIC_ACQUIRE);
    if (start == 0 && !is_kept) {
      if (__atomic_compare_exchange_n(&told.start, &start, module.start, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        start = module.start;
    }
    if (start == 0) return;
    if (start == module.start) {
      is_kept = true;
      __atomic_store_n(&told.end, module.end, __ATOMIC_RELAXED);
      __atomic_store_n(&told.identity, identity, __ATOMIC_RELAXED);
    } else if (start < module.end && __atomic_load_n(&told.end, __ATOMIC_RELAXED) > module.start) {
      __atomic_store_n(&told.identity, uint64_t{0}, __ATOMIC_RELAXED);
    }
  }
}

}  // namespace

void TellModule(uint64_t address) {
  Module module;
  if (!FindModule(address, module)) return;
  const uint64_t identity = Identity(module);
  if (WasTold(module, identity)) return;
  const uint32_t name = RegisterName(module.path);
  if (name <= wire::kRingNameAlign) return;  // no room
  uint64_t values[6] = {module.start, module.end, module.bias};
  memcpy(&values[3], module.build_id, module.build_id_bytes);
  if (EmitIfRoom(wire::EventKind::kModule, module.build_id_bytes, name, values, 6)) Remember(module, identity);
}

bool InOneModule(const void* one, const void* other) {
  ModuleBounds bounds;
  const uint64_t address = reinterpret_cast<uintptr_t>(other);
  return FindBounds(reinterpret_cast<uintptr_t>(one), bounds) && address >= bounds.start && address < bounds.end;
}

void PrepareModules() {
  if (g_process.header == nullptr || g_process.sync_entries == 0) return;
  PrepareToFindBounds();
  const ssize_t length = readlink("/proc/self/exe", g_executable, sizeof g_executable);
  if (length < 0 || length >= static_cast<ssize_t>(sizeof g_executable)) g_executable[0] = '\0';
}

}  // namespace attune::probe::hook
