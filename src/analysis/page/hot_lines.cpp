#include "analysis/profile/hot_lines.h"

#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"

namespace attune::analysis {
namespace {

/// `hot-lines`: the kMaxPageObjects lines with the largest shares of CPU time or of a sampled event. @cost as
/// FindHotLines
Result<std::string> Lines(const PageRequest& request) {
  const auto meta = request.source.Meta();
  ATTUNE_TRY(const HotLines hot, FindHotLines(request.source, SiteNames(*meta, request.names), request.range));
  return JsonText(HotLinesJson(hot, kMaxPageObjects));
}

}  // namespace

PageDocument MakeHotLinesDocument() { return {.name = "hot-lines", .may_have_range = true, .make = Lines}; }

}  // namespace attune::analysis
