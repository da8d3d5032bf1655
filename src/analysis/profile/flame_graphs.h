#pragma once
/// Flame graphs of a recording as data: what its threads waited for, and where they computed (docs/live.md).

#include <optional>

#include "analysis/documents/json_rows.h"
#include "analysis/places/code_place.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

enum class FlameTrees : bool {
  kTogether,  ///< of all threads together alone
  kBoth,      ///< of each thread, too
};

/// `waiting` is that of `attune export --to folded`, `computing` that of `--to folded-cpu`, where there are CPU
/// samples, `events` those of `--to folded-events`, with `event` and `unit`. Of each the trees have the 20 000 nodes of
/// most time. @param range nullopt: all of the time
/// @cost as FoldWaits, ReadCpuSamples and BuildFlameTree
Result<Json> FlameGraphs(model::Source& source, const model::Metadata& meta, const SiteNames& names,
                         const std::optional<model::TimeRange>& range, FlameTrees trees);

}  // namespace attune::analysis
