#include "analysis/findings/judgement.h"

#include <algorithm>
#include <utility>

#include "analysis/findings/find_findings.h"
#include "analysis/findings/program_operators.h"
#include "analysis/waits/wait_graph.h"

namespace attune::analysis {
namespace {

/// The path with what-ifs that are no larger than what is left to save (lock_relief.h). What is waited for less than a
/// hundredth of the threads' time is no what-if.
CriticalPath JudgePath(const FindingInput& input, const WaitGraph& graph) {
  if (graph.waits.empty()) return {};
  CriticalPath path = JudgeCriticalPath(input.meta, graph, std::max<int64_t>(1, input.waits.thread_ns / 100));
  const Relief at_all = RelieveAtAll(input.waits, input.meta, graph.process, input.Cpus());
  for (WhatIf& what_if : path.what_ifs) {
    const auto object = input.waits.sums.objects.find(what_if.object);
    const bool is_lock = object != input.waits.sums.objects.end() && IsLock(object->second.kind);
    const Relief relief =
        is_lock ? RelieveOf(input.Of<LockWaits>(), input.waits, input.meta, {&what_if.object, 1}, input.Cpus())
                : at_all;
    if (relief.life_ns > 0) what_if.saved_ns = std::min(what_if.saved_ns, relief.shorter_ns);
  }
  std::ranges::stable_sort(path.what_ifs, std::greater{}, &WhatIf::saved_ns);
  return path;
}

int64_t WaitsOf(const SyncSums& sums) {
  int64_t waits = 0;
  for (const auto& [id, object] : sums.objects) AddTo(waits, std::max<int64_t>(0, object.total.waits));
  return waits;
}

/// With the lives of the processes, as far as these are known.
model::TimeRange WholeTime(const model::Metadata& meta, model::TimeRange extent) {
  extent = {SaneTime(extent.t0_ns), SaneTime(extent.t1_ns)};
  for (const model::Process& process : meta.processes) {
    if (process.start_ns != model::kAbsent) extent.t0_ns = std::min(extent.t0_ns, SaneTime(process.start_ns));
    if (process.end_ns != model::kAbsent) extent.t1_ns = std::max(extent.t1_ns, SaneTime(process.end_ns));
  }
  return extent;
}

}  // namespace

Result<Judgement> JudgeProgram(model::Source& source, std::span<const model::Site> names,
                               std::span<Operator* const> also) {
  const auto meta = source.Meta();
  const int64_t now_ns = source.Extent().t1_ns;
  ProgramOperators program(TimeGrid(WholeTime(*meta, source.Extent())));
  const SiteNames site_names(*meta, names);
  MessageFactsOperator messages(site_names);
  std::vector<Operator*> operators = program.All();
  operators.insert(operators.end(), also.begin(), also.end());
  operators.push_back(&messages);
  ATTUNE_CHECK_OK(FeedRows(source, operators));
  // The graph is of the process with most threads' time: that is known from the sums.
  const WaitTables& sums = program.waits.Update(*meta, now_ns, INT64_MIN);
  WaitGraphBuilder graph(sums.lives, static_cast<size_t>(WaitsOf(sums.sums)));
  operators.push_back(&graph);
  ATTUNE_CHECK_OK(FeedEvents(source, operators));
  FindingInput input = program.Snapshot(*meta, site_names, now_ns, INT64_MAX);
  ATTUNE_TRY(input.messages, messages.Finish(source, *meta));
  input.critical_path = JudgePath(input, graph.Finish());
  std::vector<Finding> findings = FindFindings(input);
  std::vector<Efficiency> efficiencies = Efficiencies(*meta, input.waits, input.times);
  return Judgement{.waits = program.waits.Take(),
                   .account = std::move(input.account),
                   .findings = std::move(findings),
                   .efficiencies = std::move(efficiencies),
                   .critical_path = std::move(input.critical_path),
                   .cpu_samples = std::move(program.cpu_samples.samples()),
                   .task_graph = std::move(input.messages.graph)};
}

}  // namespace attune::analysis
