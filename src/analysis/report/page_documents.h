#pragma once
/// What the page shows of a whole session or recording, as JSON: the most important rows of what `attune report --json`
/// and `attune export --to sync-json` have all of (docs/live.md).

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

/// `findings`, `waits` and `critical_path` of docs/report.md. Of locks, and of what else was waited for, the
/// kMaxPageObjects with most waiting; `locks_in_all` and `others_in_all` say of how many. Of the path the
/// kMaxPageThreads and kMaxPageObjects with most time.
/// @param names of sites that the source does not name (SiteNamer) @cost as JudgeProgram and ReadWaitTables
Result<std::string> WaitsDocument(model::Source& source, std::span<const model::Site> names);

/// docs/sync-graph.md. Of threads, events, links and hand-overs those with most waiting; `threads_in_all` and so on say
/// of how many. Links and hand-overs are of threads and events that are there. @cost as BuildSyncGraph
Result<std::string> SyncGraphDocument(model::Source& source, std::span<const model::Site> names);

/// `sites`: what the places in the code are called, by id. @cost a row a site
Result<std::string> SitesDocument(model::Source& source, std::span<const model::Site> names);

/// What time was spent on, as flame graphs: `waiting` is that of `attune export --to folded`, `computing` that of
/// `--to folded-cpu`, where there are CPU samples. Of each a tree with the threads and one without them, with the
/// kMaxPageFlames nodes of most time (docs/live.md).
/// @param range of this part of the time @cost as FoldWaits, ReadCpuSamples and BuildFlameTree
Result<std::string> FlamesDocument(model::Source& source, std::span<const model::Site> names,
                                   const std::optional<model::TimeRange>& range);

/// `messages`: the task graph as in docs/task-graph.md, with the kMaxPagePairs pairs of most bytes and the
/// kMaxPageLinks places of most time. @cost as BuildTaskGraph
Result<std::string> MessagesDocument(model::Source& source, std::span<const model::Site> names);

inline constexpr size_t kMaxPageFlames = 20'000;
inline constexpr size_t kMaxPageRanks = 4096;
inline constexpr size_t kMaxPagePairs = 8192;
inline constexpr size_t kMaxPageCollectives = 2000;
inline constexpr size_t kMaxPageObjects = 500;
inline constexpr size_t kMaxPageThreads = 1000;
inline constexpr size_t kMaxPageLinks = 5000;
inline constexpr size_t kMaxPageSites = 20'000;

}  // namespace attune::analysis
