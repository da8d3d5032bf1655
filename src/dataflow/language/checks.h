#pragma once
/// Static checks of a P2G program.

#include "dataflow/language/syntax.h"

namespace attune::flow::language {

/// Names, types, dimensions, what native code calls, stores that are made twice, and what can never start.
/// @pre the program has been read without errors
void Check(const ProgramText& program, Diagnostics& diagnostics);

// Parts of it, in this order; each expects that those before it have found no error.

/// Names are declared once, and types are known.
void CheckDeclarations(const ProgramText& program, Diagnostics& diagnostics);
/// Slices fit their fields and locals, and what kernels declare is used.
void CheckKernels(const ProgramText& program, Diagnostics& diagnostics);
/// Elements that are stored twice for certain.
void CheckStores(const ProgramText& program, Diagnostics& diagnostics);
/// Fields that nobody stores, circles, and ages that never come.
void CheckAges(const ProgramText& program, Diagnostics& diagnostics);

}  // namespace attune::flow::language
