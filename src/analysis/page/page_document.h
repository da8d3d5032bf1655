#pragma once
/// Page documents: JSON about a whole session or recording (docs/live.md), with the most important rows of what
/// `attune report --json` and `attune export` have all of.
///
/// A document is one file of this folder, named as it (sync_graph.cpp), that defines `PageDocument
/// MakeSyncGraphDocument()` (docs/adding-a-page-document.md).

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct PageRequest {
  model::Source& source;
  std::span<const model::Site> names;          ///< names of sites that the source leaves unnamed (SiteNamer)
  std::optional<model::TimeRange> range = {};  ///< part of the time to cover; nullopt: all
};

struct PageDocument {
  std::string name;                                             ///< as a page asks for it: "sync-graph"
  bool may_have_range = false;                                  ///< whether it can be had of a part of the time
  std::function<Result<std::string>(const PageRequest&)> make;  ///< JSON
};

/// All documents, in the order of their files. Each holds its own state.
std::vector<PageDocument> MakeAllPageDocuments();

}  // namespace attune::analysis
