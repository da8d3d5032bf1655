#include "analysis/findings/judgement.h"

#include <algorithm>
#include <utility>

#include "analysis/findings/finding_input.h"
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
        is_lock ? RelieveOf(input.lock_waits, input.waits, input.meta, {&what_if.object, 1}, input.Cpus()) : at_all;
    if (relief.life_ns > 0) what_if.saved_ns = std::min(what_if.saved_ns, relief.shorter_ns);
  }
  std::ranges::stable_sort(path.what_ifs, std::greater{}, &WhatIf::saved_ns);
  return path;
}

}  // namespace

Result<Judgement> JudgeProgram(model::Source& source, const model::Metadata& meta, const WaitTables& waits,
                               const SiteNames& names, const std::function<void(const model::EventBlock&)>& also) {
  FindingInput input(meta, waits, names);
  ConcurrencyReader concurrency(waits.sums, waits.lives);
  WaitGraphBuilder graph(waits.lives);
  const bool has_waits = !waits.sums.objects.empty();
  if (has_waits || also) {
    ATTUNE_CHECK_OK(source.ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
      if (also) also(block);
      if (!has_waits) return true;
      input.barriers.Add(block);
      concurrency.Add(block);
      input.orders.Add(block);
      input.lock_waits.Add(block);
      graph.Add(block);
      return true;
    }));
  }
  input.concurrency = concurrency.Finish();
  input.orders.Finish();
  ATTUNE_TRY(input.times, ReadThreadTimes(source, meta, waits.lives));
  ATTUNE_TRY(CpuSamples cpu_samples, ReadCpuSamples(source));
  ATTUNE_TRY(input.memory, ReadMemoryUse(source, meta, cpu_samples));
  ATTUNE_CHECK_OK(ReadMessageFacts(source, meta, names, input.messages));
  input.critical_path = JudgePath(input, graph.Finish());
  std::vector<Finding> findings = FindFindings(input);
  return Judgement{.findings = std::move(findings),
                   .efficiencies = Efficiencies(meta, waits, input.times),
                   .critical_path = std::move(input.critical_path),
                   .cpu_samples = std::move(cpu_samples),
                   .task_graph = std::move(input.messages.graph)};
}

Result<Judgement> JudgeProgram(model::Source& source, std::span<const model::Site> names) {
  ATTUNE_TRY(const WaitTables waits, ReadWaitTables(source));
  const auto meta = source.Meta();
  return JudgeProgram(source, *meta, waits, SiteNames(*meta, names));
}

}  // namespace attune::analysis
