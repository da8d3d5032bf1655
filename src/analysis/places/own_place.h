#pragma once
/// The place of a call path that a reader can change: the program's own code that called what costs the time.

#include <span>

#include "analysis/places/code_place.h"
#include "model/source.h"

namespace attune::analysis {

/// Whether a module is no code of the program's author: the kernel, the vDSO, attune's own library, or a library in a
/// folder of the system's (/lib, /usr/lib and their like). Programs in /usr/bin are their own code.
bool IsSystemModule(std::string_view module);

/// The innermost place of a call path that lies in the program's own code and in no header of the system's; else the
/// innermost one in a module of its own; else the innermost one with a name; else the innermost.
/// @param path of a call path, outermost first (CpuSamples::PathOf)
/// @return 0: the path is empty  @cost a look-up of each place, from the innermost on
model::ElementId OwnPlaceOf(std::span<const model::ElementId> path, const SiteNames& names);

}  // namespace attune::analysis
