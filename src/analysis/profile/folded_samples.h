#pragma once
/// CPU samples of threads as folded stacks: on-CPU time, as flame graphs show it.

#include "analysis/places/code_place.h"
#include "analysis/profile/cpu_profile.h"
#include "analysis/profile/folded_stacks.h"
#include "model/source.h"

namespace attune::analysis {

/// A stack for each thread and call path: process, thread, functions from the outermost to the one that ran. Their
/// time is that of the samples. @param samples, meta, names of one source @cost linear in the thread's call paths
FoldedStacks FoldSamples(const SampleSums& samples, const model::Metadata& meta, const SiteNames& names);

}  // namespace attune::analysis
