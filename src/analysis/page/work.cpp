#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/work/work_json.h"

namespace attune::analysis {
namespace {

/// `work`: the kernels of a dataflow graph or another task runtime, in the range, and what they hand to each other.
/// @cost one pass over the program's counters
Result<std::string> Work(const PageRequest& request) {
  WorkSums sums(request.range.value_or(kWholeRun));
  Operator* const operators[] = {&sums};
  ATTUNE_CHECK_OK(FeedRows(request.source, operators));
  return JsonText(WorkJson(sums.Graph()));
}

}  // namespace

PageDocument MakeWorkDocument() { return {.name = "work", .may_have_range = true, .make = Work}; }

}  // namespace attune::analysis
