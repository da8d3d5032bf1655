#include "analysis/account/account_json.h"
#include "analysis/findings/finding_json.h"
#include "analysis/findings/judgement.h"
#include "analysis/page/page_document.h"
#include "analysis/page/page_json.h"
#include "analysis/report/summary.h"
#include "analysis/report/verdict.h"
#include "analysis/timeline/finding_times.h"
#include "analysis/timeline/state_parts.h"
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

Json PartsJson(const StateParts& parts) {
  const auto line = [](const StateLine& one) {
    return Json{{"state", one.name},
                {"waited_ns", one.waited_ns},
                {"before_ns", one.before_ns},
                {"first", one.first},
                {"ns", one.ns}};
  };
  const auto thread = [&line](const ThreadStates& one) {
    return Json{{"id", one.thread}, {"lines", JsonRows(one.lines, line)}};
  };
  return {{"t0_ns", parts.t0_ns},
          {"width_ns", parts.width_ns},
          {"count", parts.count},
          {"threads", JsonRows(parts.threads, thread)}};
}

/// Threads with the longest lives, with the times of their states; `threads_in_all` says how many there are.
Json AccountJson(Account account, StateParts parts) {
  if (account.threads.empty()) return nullptr;
  const size_t threads = CutRows(account.threads, kMaxPageObjects);
  CutRows(parts.threads, kMaxPageObjects);
  Json json = ToJson(account);
  json["threads_in_all"] = threads;
  json["parts"] = PartsJson(parts);
  return json;
}

/// [[begin, end, lost], ...] of each finding, in nanoseconds.
Json TimesJson(const std::vector<std::vector<FindingPart>>& times) {
  return JsonRows(times, [](const std::vector<FindingPart>& parts) {
    return JsonRows(parts, [](const FindingPart& part) { return Json::array({part.t0_ns, part.t1_ns, part.lost_ns}); });
  });
}

/// `verdict`, `findings`, `waits` and `critical_path` of docs/report.md, the times of the findings, the `balance` of
/// the CPUs, and the `account` with its times. Of locks, and of what else was waited for, the kMaxPageObjects with most
/// waiting; `locks_in_all` and `others_in_all` say of how many. Of the path the kMaxPageThreads and kMaxPageObjects
/// with most time. @cost as JudgeProgram and FindFindingTimes
Result<std::string> Waits(const PageRequest& request) {
  StatePartsOperator states(request.source);
  Operator* const also = &states;
  ATTUNE_TRY(Judgement judgement, JudgeProgram(request.source, request.names, {&also, 1}));
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
  Json account_json = AccountJson(judgement.account, states.Place(judgement.account, judgement.waits.lives));
  CriticalPath& path = judgement.critical_path;
  CutRows(path.threads, kMaxPageThreads);
  CutRows(path.objects, kMaxPageObjects);
  return JsonText({{"verdict", ToJson(verdict)},
                   {"balance", BalanceJson(judgement.account.cpus)},
                   {"account", std::move(account_json)},
                   {"findings", ToJson(judgement.findings)},
                   {"finding_times", TimesJson(times)},
                   {"waits", std::move(waits_json)},
                   {"critical_path", ToJson(path)}});
}

}  // namespace

PageDocument MakeWaitsDocument() { return {.name = "waits", .make = Waits}; }

}  // namespace attune::analysis
