#include "probe/hook/exports.h"

#include <string.h>

namespace attune::probe::hook {
namespace {

/// A module's tables that say what it exports and needs.
struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* texts = nullptr;
  const uint32_t* gnu_hash = nullptr;
  const uint32_t* hash = nullptr;
  const uint16_t* versions = nullptr;
  uint64_t own_name = 0;  ///< in `texts`
};

/// The loader has made most of these addresses; of some modules (the kernel's) they are still as in the file.
uint64_t AddressIn(const LoadedModule& module, uint64_t value) {
  return value < module.bias ? module.bias + value : value;
}

Tables TablesOf(const LoadedModule& module) {
  Tables tables;
  for (const ElfW(Dyn)* entry = module.dynamic; entry->d_tag != DT_NULL; ++entry) {
    const uint64_t address = AddressIn(module, entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) tables.texts = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const uint32_t*>(address);
    if (entry->d_tag == DT_HASH) tables.hash = reinterpret_cast<const uint32_t*>(address);
    if (entry->d_tag == DT_VERSYM) tables.versions = reinterpret_cast<const uint16_t*>(address);
    if (entry->d_tag == DT_SONAME) tables.own_name = entry->d_un.d_val;
  }
  return tables;
}

/// Accepts, of several versions, only the one that a program is linked with now.
bool IsExport(const Tables& tables, uint32_t index, const char* name, unsigned char type) {
  constexpr uint16_t kHidden = 0x8000;
  if (tables.versions != nullptr && (tables.versions[index] & kHidden) != 0) return false;
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && (symbol.st_info & 0xf) == type &&
         strcmp(tables.texts + symbol.st_name, name) == 0;
}

/// In the table of .gnu.hash. 0: it is not there.
uint32_t FindByGnuHash(const Tables& tables, const char* name, unsigned char type) {
  uint32_t hash = 5381;
  for (const char* c = name; *c != '\0'; ++c) hash = hash * 33 + static_cast<unsigned char>(*c);
  const uint32_t buckets = tables.gnu_hash[0];
  const uint32_t first = tables.gnu_hash[1];
  const uint32_t filter_words = tables.gnu_hash[2];
  if (buckets == 0) return 0;
  const uint32_t* bucket = tables.gnu_hash + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* chain = bucket + buckets;
  uint32_t index = bucket[hash % buckets];
  if (index < first) return 0;
  while (true) {
    const uint32_t entry = chain[index - first];
    if ((entry | 1) == (hash | 1) && IsExport(tables, index, name, type)) return index;
    if ((entry & 1) != 0) return 0;
    ++index;
  }
}

uint32_t FindIndex(const Tables& tables, const char* name, unsigned char type) {
  if (tables.symbols == nullptr || tables.texts == nullptr) return 0;
  if (tables.gnu_hash != nullptr) return FindByGnuHash(tables, name, type);
  if (tables.hash == nullptr) return 0;
  for (uint32_t index = 1; index < tables.hash[1]; ++index) {  // as many as chains
    if (IsExport(tables, index, name, type)) return index;
  }
  return 0;
}

/// A search, under the loader's lock, which also keeps others from these.
constexpr uint32_t kMaxModules = 2048;
LoadedModule g_modules[kMaxModules];
bool g_is_queued[kMaxModules];
uint32_t g_queue[kMaxModules];

struct Search {
  uint64_t site;  ///< 0: any
  const char* name;
  LoadedModule* found;
  uint32_t modules;
  uint32_t queued;
};

bool Contains(const LoadedModule& module, uint64_t address) { return address >= module.start && address < module.end; }

int AddModule(dl_phdr_info* info, size_t, void* context) {
  auto* search = static_cast<Search*>(context);
  if (search->modules >= kMaxModules) return 1;
  LoadedModule module = {.start = UINT64_MAX, .end = 0, .bias = info->dlpi_addr, .dynamic = nullptr};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    const uint64_t start = module.bias + part.p_vaddr;
    if (part.p_type == PT_DYNAMIC) module.dynamic = reinterpret_cast<const ElfW(Dyn)*>(start);
    if (part.p_type != PT_LOAD) continue;
    if (start < module.start) module.start = start;
    if (start + part.p_memsz > module.end) module.end = start + part.p_memsz;
  }
  if (module.dynamic == nullptr) return 0;
  g_modules[search->modules] = module;
  g_is_queued[search->modules++] = false;
  return 0;
}

void Queue(Search& search, uint32_t index) {
  if (g_is_queued[index]) return;
  g_is_queued[index] = true;
  g_queue[search.queued++] = index;
}

/// Queues the libraries that a module was linked with; the loader knows them by their own names.
void QueueNeeded(Search& search, const LoadedModule& module) {
  const Tables tables = TablesOf(module);
  for (const ElfW(Dyn)* entry = module.dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED || tables.texts == nullptr) continue;
    for (uint32_t i = 0; i < search.modules; ++i) {
      const Tables other = TablesOf(g_modules[i]);
      if (other.texts == nullptr || other.own_name == 0 ||
          strcmp(other.texts + other.own_name, tables.texts + entry->d_un.d_val) != 0)
        continue;
      Queue(search, i);
      break;
    }
  }
}

/// The loader calls this with its first module, and keeps its lock meanwhile.
int SearchAll(dl_phdr_info*, size_t, void* context) {
  auto* search = static_cast<Search*>(context);
  dl_iterate_phdr(&AddModule, search);
  for (uint32_t i = 0; i < search->modules; ++i) {
    if (search->site == 0 || Contains(g_modules[i], search->site)) Queue(*search, i);
  }
  const auto ours = reinterpret_cast<uintptr_t>(&SearchAll);
  for (uint32_t next = 0; next < search->queued; ++next) {
    const LoadedModule& module = g_modules[g_queue[next]];
    if (!Contains(module, ours) && FindIndex(TablesOf(module), search->name, STT_FUNC) != 0) {
      *search->found = module;
      return 2;
    }
    QueueNeeded(*search, module);
  }
  return 1;
}

}  // namespace

bool FindExporter(const void* site, const char* name, LoadedModule& found) {
  Search search = {reinterpret_cast<uintptr_t>(site), name, &found, 0, 0};
  return dl_iterate_phdr(&SearchAll, &search) == 2;
}

bool FindAnyExporter(const char* name, LoadedModule& found) { return FindExporter(nullptr, name, found); }

void* FindExport(const LoadedModule& module, const char* name, unsigned char type) {
  const Tables tables = TablesOf(module);
  if (tables.symbols == nullptr) return nullptr;
  const uint32_t index = FindIndex(tables, name, type);
  return index != 0 ? reinterpret_cast<void*>(module.bias + tables.symbols[index].st_value) : nullptr;
}

}  // namespace attune::probe::hook
