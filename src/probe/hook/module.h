#pragma once
/// Reports the program or library of a site to the session while it is loaded: the program may have ended, or the
/// library may be unloaded, before the session looks.

#include <stdint.h>

namespace attune::probe::hook {

/// Reports the module that contains an address, unless that was done. If it fails (the ring is full, the C library does
/// not know), the next new site tries again. @pre the thread has a slot
/// @thread any, also in a signal handler  @cost 0.2 us, the first of a module 2 us
void TellModule(uint64_t address);

/// A program or library in memory.
struct ModuleBounds {
  uint64_t start, end;      ///< [start, end)
  uint64_t bias;            ///< address in memory minus address in the file
  const char* path;         ///< as the loader has it; "": the program itself
  const void* frame_index;  ///< its .eh_frame_hdr in memory; nullptr: it has none
};
/// Finds the module that contains an address. False: there is none, or the C library does not know it.
/// @pre PrepareModules()
bool FindBounds(uint64_t address, ModuleBounds& bounds);

/// Whether both addresses are in the same program or library. False also if the C library does not know.
bool InOneModule(const void* one, const void* other);

/// Call it after the process has attached, before the first TellModule(). Without it nothing is reported.
void PrepareModules();

/// The symbol of a name in the program, or in a library loaded with it. nullptr: none, or not known.
const void* FindExported(const char* name);

/// Prepares FindBounds() alone.
void PrepareToFindBounds();

}  // namespace attune::probe::hook
