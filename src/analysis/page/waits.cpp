#include "analysis/findings/finding_json.h"
#include "analysis/findings/judgement.h"
#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/report/summary.h"
#include "analysis/report/verdict.h"
#include "analysis/timeline/finding_times.h"
#include "analysis/waits/wait_json.h"
#include "analysis/waits/wait_summary.h"

namespace attune::analysis {
namespace {

/// Shares of the CPUs' time; `others` and `idle` only where they are known.
Json BalanceJson(const CpuAccount& cpus) {
  if (cpus.cpus == 0 || cpus.CapacityNs() <= 0) return nullptr;
  const auto share = [&cpus](double ns) { return ns / cpus.CapacityNs(); };
  const auto divided = [&](double ns) { return cpus.is_divided ? Json(share(ns)) : Json(nullptr); };
  return {{"cpus", cpus.cpus},
          {"program", share(cpus.program_ns)},
          {"others", divided(cpus.others_ns)},
          {"idle", divided(cpus.idle_ns)}};
}

/// [[begin, end, lost], ...] of each finding, in nanoseconds.
Json TimesJson(const std::vector<std::vector<FindingPart>>& times) {
  return JsonRows(times, [](const std::vector<FindingPart>& parts) {
    return JsonRows(parts, [](const FindingPart& part) { return Json::array({part.t0_ns, part.t1_ns, part.lost_ns}); });
  });
}

/// `verdict`, `findings`, `waits` and `critical_path` of docs/report.md, the times of the findings, and the `balance`
/// of the CPUs. Of locks, and of what else was waited for, the kMaxPageObjects with most waiting; `locks_in_all` and
/// `others_in_all` say of how many. Of the path the kMaxPageThreads and kMaxPageObjects with most time. @cost as
/// JudgeProgram and FindFindingTimes
Result<std::string> Waits(const PageRequest& request) {
  ATTUNE_TRY(Judgement judgement, JudgeProgram(request.source, request.names));
  ATTUNE_TRY(const auto times, FindFindingTimes(request.source, judgement.findings));
  const auto meta = request.source.Meta();
  const SiteNames names(*meta, request.names);
  WaitSummary waits = SummariseWaits(*meta, judgement.waits, names);
  const Verdict verdict = FindVerdict(judgement.account, FindHotSpot(judgement.cpu_samples, names), CpuTimeOf(*meta));
  const size_t locks = CutRows(waits.locks, kMaxPageObjects);
  const size_t others = CutRows(waits.others, kMaxPageObjects);
  Json waits_json = ToJson(waits);
  waits_json["locks_in_all"] = locks;
  waits_json["others_in_all"] = others;
  CriticalPath& path = judgement.critical_path;
  CutRows(path.threads, kMaxPageThreads);
  CutRows(path.objects, kMaxPageObjects);
  return JsonText({{"verdict", ToJson(verdict)},
                   {"balance", BalanceJson(judgement.account.cpus)},
                   {"findings", ToJson(judgement.findings)},
                   {"finding_times", TimesJson(times)},
                   {"waits", std::move(waits_json)},
                   {"critical_path", ToJson(path)}});
}

}  // namespace

PageDocument MakeWaitsDocument() { return {.name = "waits", .make = Waits}; }

}  // namespace attune::analysis
