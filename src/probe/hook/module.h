#pragma once
/// Which program or library a site lies in, told to the session while it is still there: a program may be gone, and a
/// library unloaded, before anybody outside looks.

#include <stdint.h>

namespace attune::probe::hook {

/// Tells the session of the module around an address, unless it was told. Where that fails (the ring is full, no C
/// library that knows) the next new site tries again. @pre the thread has a slot
/// @thread any, also in a signal handler  @cost 0.2 us, the first of a module 2 us
void TellModule(uint64_t address);

/// A program or library in memory.
struct ModuleBounds {
  uint64_t start, end;  ///< [start, end)
  uint64_t bias;        ///< an address in memory less this is the one in its file
  const char* path;     ///< as the loader has it; "": the program itself
};
/// The module around an address. False where there is none, or the C library does not know.
/// @pre PrepareModules()
bool FindBounds(uint64_t address, ModuleBounds& bounds);

/// Whether both addresses lie in the same program or library. False also where the C library does not know.
bool InOneModule(const void* one, const void* other);

/// Before the first TellModule(), after the process has attached. Without it nothing is told.
void PrepareModules();

/// What FindBounds() needs.
void PrepareToFindBounds();

}  // namespace attune::probe::hook
