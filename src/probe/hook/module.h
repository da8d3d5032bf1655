#pragma once
/// Which program or library a site lies in, told to the session while it is still there: a program may be gone, and a
/// library unloaded, before anybody outside looks.

#include <stdint.h>

namespace attune::probe::hook {

/// Tells the session of the module around an address, unless it was told. Where that fails (the ring is full, no C
/// library that knows) the next new site tries again. @pre the thread has a slot
/// @thread any, also in a signal handler  @cost 0.2 us, the first of a module 2 us
void TellModule(uint64_t address);

/// Whether both addresses lie in the same program or library. False also where the C library does not know.
bool InOneModule(const void* one, const void* other);

/// Before the first TellModule(), after the process has attached. Without it nothing is told.
void PrepareModules();

}  // namespace attune::probe::hook
