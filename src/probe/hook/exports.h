#pragma once
/// What a library exports, read from its own tables. The loader's dlsym looks at what a library was linked with too,
/// but only of one that was opened by itself: one that was loaded for another one's sake has no scope of its own, and
/// dlsym does not survive being asked for it.

#include <link.h>
#include <stdint.h>

namespace attune::probe::hook {

/// A program or library in memory, as long as that stays there.
struct LoadedModule {
  uint64_t start, end;  ///< [start, end)
  uint64_t bias;
  const ElfW(Dyn) * dynamic;
};

/// Of the module around a place, what it was linked with, what that was linked with, and so on: the first that exports
/// a function, but for our own library. @return whether there is one
/// @cost takes the loader's lock; no heap, no system call
bool FindExporter(const void* site, const char* name, LoadedModule& found);

/// The same of all modules, in the order in which they were loaded.
bool FindAnyExporter(const char* name, LoadedModule& found);

/// A function that the module exports, or an object; nullptr: it does not. @param type STT_FUNC, STT_OBJECT
void* FindExport(const LoadedModule& module, const char* name, unsigned char type = STT_FUNC);

}  // namespace attune::probe::hook
