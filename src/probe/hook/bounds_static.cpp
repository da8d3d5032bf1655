/// A static program is its only module.

#include <elf.h>
#include <link.h>

#include "probe/hook/module.h"

namespace attune::probe::hook {
namespace {

// NOLINTBEGIN(bugprone-reserved-identifier): the linker gives these names
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern "C" const char _end __attribute__((visibility("hidden")));
// NOLINTEND(bugprone-reserved-identifier)

}  // namespace

bool FindBounds(uint64_t address, ModuleBounds& bounds) {
  bounds.start = reinterpret_cast<uintptr_t>(&__ehdr_start);
  bounds.end = reinterpret_cast<uintptr_t>(&_end);
  if (address < bounds.start || address >= bounds.end) return false;
  const auto* parts = reinterpret_cast<const ElfW(Phdr)*>(bounds.start + __ehdr_start.e_phoff);
  bounds.bias = bounds.start;
  bounds.frame_index = nullptr;
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (parts[i].p_type == PT_LOAD && parts[i].p_offset == 0) bounds.bias = bounds.start - parts[i].p_vaddr;
  }
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (parts[i].p_type == PT_GNU_EH_FRAME)
      bounds.frame_index = reinterpret_cast<const void*>(bounds.bias + parts[i].p_vaddr);
  }
  bounds.path = "";
  return true;
}

void PrepareToFindBounds() {}

const void* FindExported(const char*) { return nullptr; }

}  // namespace attune::probe::hook
