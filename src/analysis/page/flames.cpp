#include "analysis/documents/json_rows.h"
#include "analysis/page/page_document.h"
#include "analysis/places/code_place.h"
#include "analysis/profile/flame_graphs.h"

namespace attune::analysis {
namespace {

/// Flame graphs of what time was spent on, with and without threads. @cost as FlameGraphs
Result<std::string> Flames(const PageRequest& request) {
  const auto meta = request.source.Meta();
  ATTUNE_TRY(const Json flames,
             FlameGraphs(request.source, *meta, SiteNames(*meta, request.names), request.range, FlameTrees::kBoth));
  return JsonText(flames);
}

}  // namespace

PageDocument MakeFlamesDocument() { return {.name = "flames", .may_have_range = true, .make = Flames}; }

}  // namespace attune::analysis
