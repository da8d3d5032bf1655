#pragma once
/// The lock of Python's interpreter (GIL) among the conditions of a process.

#include "analysis/findings/finding_input.h"

namespace attune::analysis {

/// Whether a wake-up is its release, which wakes nobody on purpose.
bool IsReleaseOfInterpreter(const FindingInput& input, const ObjectSums& object, model::ElementId site);

/// Waits for it: CPython waits for a condition for nothing else (its own locks are semaphores).
/// @return empty: no thread waited for it, or the process is none of Python's
ObjectSums WaitsForInterpreter(const FindingInput& input, model::ElementId process);

}  // namespace attune::analysis
