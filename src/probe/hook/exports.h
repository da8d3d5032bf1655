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

/// A function that the module exports; nullptr: it does not.
void* FindExport(const LoadedModule& module, const char* name);

}  // namespace attune::probe::hook
