#pragma once
/// The place of a call path that a reader can change: the program's own code that called what costs the time.

#include <span>
#include <string_view>

#include "analysis/places/code_place.h"
#include "model/source.h"

namespace attune::analysis {

/// Whether a module is no code of the program's author: the kernel, the vDSO, attune's own library, or a library in a
/// folder of the system's (/lib, /usr/lib and their like), one of Python's or its packages among them. Programs in
/// /usr/bin are their own code.
bool IsSystemModule(std::string_view module);

/// Whether a module is the interpreter of Python: "python3.11", "libpython3.11.so.1.0".
bool IsPythonInterpreter(std::string_view module);

/// Whether a module is a file of Python, whose lines the interpreter executes.
bool IsPythonSource(std::string_view module);

/// Whether a module is attune's own, which is in the program to observe it.
bool IsProbe(std::string_view module);

/// Functions of the C library that every call path begins with.
bool IsBegin(std::string_view function);

/// The interpreter is nobody's own code where it is known what it executes.
bool ExecutesPython(std::span<const model::ElementId> path, const SiteNames& names);

/// The innermost place of a call path that lies in the program's own code and in no header of the system's; else the
/// innermost one in a module of its own; else the innermost one with a name, but of attune's; else the innermost.
/// @param path of a call path, outermost first (SampleSums::PathOf)
/// @return 0: the path is empty  @cost a look-up of each place, from the innermost on
model::ElementId OwnPlaceOf(std::span<const model::ElementId> path, const SiteNames& names);

}  // namespace attune::analysis
