#pragma once
/// What threads waited for as folded stacks, the input of flame graphs (flamegraph.pl, inferno, speedscope).

#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// A line for each thread, kind of wait, object and place: frames with ';' between them, outermost first, and
/// microseconds waited. Its frames: process, thread, the functions at the place (the one that others are inlined into
/// first), what was waited for. @cost as ReadSyncSums
Result<std::string> FoldWaits(model::Source& source);

}  // namespace attune::analysis
