#include "analysis/findings/finding_json.h"
#include "analysis/findings/judgement.h"
#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/waits/wait_json.h"
#include "analysis/waits/wait_summary.h"

namespace attune::analysis {
namespace {

/// `findings`, `waits` and `critical_path` of docs/report.md. Of locks, and of what else was waited for, the
/// kMaxPageObjects with most waiting; `locks_in_all` and `others_in_all` say of how many. Of the path the
/// kMaxPageThreads and kMaxPageObjects with most time. @cost as JudgeProgram
Result<std::string> Waits(const PageRequest& request) {
  ATTUNE_TRY(Judgement judgement, JudgeProgram(request.source, request.names));
  const auto meta = request.source.Meta();
  WaitSummary waits = SummariseWaits(*meta, judgement.waits, SiteNames(*meta, request.names));
  const size_t locks = CutRows(waits.locks, kMaxPageObjects);
  const size_t others = CutRows(waits.others, kMaxPageObjects);
  Json waits_json = ToJson(waits);
  waits_json["locks_in_all"] = locks;
  waits_json["others_in_all"] = others;
  CriticalPath& path = judgement.critical_path;
  CutRows(path.threads, kMaxPageThreads);
  CutRows(path.objects, kMaxPageObjects);
  return JsonText(
      {{"findings", ToJson(judgement.findings)}, {"waits", std::move(waits_json)}, {"critical_path", ToJson(path)}});
}

}  // namespace

PageDocument MakeWaitsDocument() { return {.name = "waits", .make = Waits}; }

}  // namespace attune::analysis
