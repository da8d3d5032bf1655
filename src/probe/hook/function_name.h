#pragma once
/// Names of functions, read from the symbol table in the file of their module.

#include <stddef.h>
#include <stdint.h>

#include "probe/hook/module.h"

namespace attune::probe::hook {

/// Writes the mangled name of the function that contains an address, cut to the room that there is. The file is not
/// read where the program filters its system calls, or has had so many symbols read that it takes too long.
/// @return whether there is one
/// @cost some system calls, 5 ns a symbol of the module  @thread any, also in a signal handler; keeps errno
bool FindFunctionName(const ModuleBounds& bounds, uint64_t address, char* name, size_t room);

}  // namespace attune::probe::hook
