/// Modules as the C library's loader knows them.

#include <dlfcn.h>
#include <link.h>

#include "probe/hook/module.h"

namespace attune::probe::hook {
#ifdef DLFO_STRUCT_HAS_EH_DBASE  // glibc 2.35

namespace {
int (*g_find_object)(void*, dl_find_object*) = nullptr;
}  // namespace

bool FindBounds(uint64_t address, ModuleBounds& bounds) {
  dl_find_object found;
  if (g_find_object == nullptr || g_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  const link_map* map = found.dlfo_link_map;
  bounds.start = reinterpret_cast<uintptr_t>(found.dlfo_map_start);
  bounds.end = reinterpret_cast<uintptr_t>(found.dlfo_map_end);
  bounds.bias = map->l_addr;
  bounds.frame_index = found.dlfo_eh_frame;
  bounds.path = map->l_name != nullptr ? map->l_name : "";
  return true;
}

void PrepareToFindBounds() {
  g_find_object = reinterpret_cast<int (*)(void*, dl_find_object*)>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
}

#else

bool FindBounds(uint64_t, ModuleBounds&) { return false; }
void PrepareToFindBounds() {}

#endif

const void* FindExported(const char* name) { return dlsym(RTLD_DEFAULT, name); }

}  // namespace attune::probe::hook
