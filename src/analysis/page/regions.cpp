#include "analysis/report/regions.h"
#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"

namespace attune::analysis {
namespace {

/// `regions`: the kMaxPageObjects regions of the program with most time of their own, as in docs/report.md.
/// @cost one pass over the events, and over the program's counters
Result<std::string> Regions(const PageRequest& request) {
  const std::shared_ptr<const model::Metadata> meta = request.source.Meta();
  EventCounter counter(*meta);
  Operator* const operators[] = {&counter};
  ATTUNE_CHECK_OK(FeedRows(request.source, operators));
  ATTUNE_CHECK_OK(FeedEvents(request.source, operators));
  ProgramSummary program = counter.Finish();
  const size_t all = CutRows(program.regions, kMaxPageObjects);
  AddMetrics(program.regions);
  return JsonText({{"regions", JsonRows(program.regions, RegionJson)}, {"regions_in_all", all}});
}

}  // namespace

PageDocument MakeRegionsDocument() { return {.name = "regions", .make = Regions}; }

}  // namespace attune::analysis
