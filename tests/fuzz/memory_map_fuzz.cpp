// A process's memory map: whatever the text, what is found in it are stretches in order, and an address is found where
// one of them has it.

#include "track/memory_map.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto map = attune::track::ParseMemoryMap({reinterpret_cast<const char*>(data), size});
  uint64_t last = 0;
  for (const auto& file : map) {
    if (file.start >= file.end || file.start < last || (file.path.front() != '/' && file.path != "[vdso]"))
      __builtin_trap();
    last = file.start;
    const auto* found = attune::track::FindMapped(map, file.start);
    if (found == nullptr || file.start < found->start || file.start >= found->end) __builtin_trap();
  }
  return 0;
}
