#pragma once
/// Waits of threads as folded stacks: off-CPU time, as flame graphs show it.

#include "analysis/places/code_place.h"
#include "analysis/profile/folded_stacks.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// A stack for each thread, kind of wait, object and place: process, thread, the functions at the place (the one that
/// others are inlined into first), what was waited for. @param names of the source @cost as ReadSyncSums
Result<FoldedStacks> FoldWaits(model::Source& source, const model::Metadata& meta, const SiteNames& names);

/// The same of a part of the time, by the single waits: of those that reach beyond it, what lies within. Waits that are
/// no events (lost, or not over) are not there. @cost 60 ns for each event from the beginning of the range on
Result<FoldedStacks> FoldWaitsWithin(model::Source& source, const model::Metadata& meta, const SiteNames& names,
                                     model::TimeRange range);

}  // namespace attune::analysis
