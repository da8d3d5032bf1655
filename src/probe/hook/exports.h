#pragma once
/// Looks up exported symbols in a library's own tables. dlsym is no alternative: it needs a library that was opened
/// directly; one that was loaded as a dependency has no scope of its own, and dlsym crashes on it.

#include <link.h>
#include <stdint.h>

namespace attune::probe::hook {

/// A program or library in memory; valid while it stays loaded.
struct LoadedModule {
  uint64_t start, end;  ///< [start, end)
  uint64_t bias;
  const ElfW(Dyn) * dynamic;
};

/// Finds the first module that exports a function, among the module that contains `site` and its dependencies, breadth
/// first, without our own library. @return whether there is one
/// @cost takes the loader's lock; no heap, no system call
bool FindExporter(const void* site, const char* name, LoadedModule& found);

/// The same among all modules, in the order in which they were loaded.
bool FindAnyExporter(const char* name, LoadedModule& found);

/// Address of an exported function or object; nullptr: not exported. @param type STT_FUNC, STT_OBJECT
void* FindExport(const LoadedModule& module, const char* name, unsigned char type = STT_FUNC);

}  // namespace attune::probe::hook
