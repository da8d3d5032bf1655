/// Threads that could run but may not: narrow-affinity and throttling (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/account/affinities.h"
#include "analysis/account/code_tree.h"
#include "analysis/account/quota_times.h"
#include "analysis/findings/finding_input.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kNarrowAffinity{"narrow-affinity", "Threads may use fewer CPUs than are free"};
constexpr FindingClass kThrottling{"throttling", "The quota of a control group keeps threads from the CPUs"};

/// Part of a thread's waiting for a CPU while it might use fewer than the program.
constexpr double kMostly = 0.8;
/// Part of the waiting behind threads of the program: each on a CPU of its own would hardly wait.
constexpr double kOwn = 0.3;
/// Part of the waiting in which CPUs did not run the program, or of the time of the CPUs that it may not use.
constexpr double kFree = 0.5;

/// Threads of narrow affinity together.
struct Narrow {
  double queue_ns = 0;
  double own_ns = 0;  ///< behind threads of the program
  int64_t cpus = INT64_MAX;
  std::vector<FindingThread> threads;
};

/// The fewest CPUs of a thread that queued while it might use few; 0: it might use as many as the program.
int64_t CpusOf(const AffinitiesOperator::QueueByCpus& by_cpus, int64_t all) {
  int64_t narrow_ns = 0;
  int64_t known_ns = 0;
  int64_t cpus = 0;
  for (const auto& [number, ns] : by_cpus) {
    AddTo(known_ns, ns);
    if (number >= all) continue;
    AddTo(narrow_ns, ns);
    if (cpus == 0) cpus = number;
  }
  return PartOf(narrow_ns, known_ns) >= kMostly ? cpus : 0;
}

Narrow FindNarrow(const FindingInput& input) {
  Narrow narrow;
  for (const ThreadAccount& account : input.account.threads) {
    const auto* by_cpus = input.Of<AffinitiesOperator>().Of(account.thread);
    const int64_t cpus = by_cpus == nullptr ? 0 : CpusOf(*by_cpus, static_cast<int64_t>(input.Cpus()));
    if (cpus == 0) continue;
    narrow.queue_ns += account.queued_ns;
    narrow.own_ns +=
        input.account.is_exact ? LineNs(account, model::ToString(model::TimeState::kQueuedProgram)) : account.queued_ns;
    narrow.cpus = std::min(narrow.cpus, cpus);
    narrow.threads.push_back(input.Thread(account.thread, static_cast<int64_t>(account.queued_ns)));
  }
  return narrow;
}

void FindNarrowAffinity(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.Cpus() < 2) return;
  Narrow narrow = FindNarrow(input);
  const CpuAccount& cpus = input.account.cpus;
  // Behind whom a thread queued only its switches say: without them only CPUs that were idle are free for certain.
  const double free_ns = !input.account.is_exact && cpus.is_divided
                             ? cpus.idle_ns
                             : std::max(0.0, static_cast<double>(input.Cpus()) * cpus.wall_ns - cpus.program_ns);
  const double missing_ns = static_cast<double>(static_cast<int64_t>(input.Cpus()) - narrow.cpus) * cpus.wall_ns;
  if (narrow.own_ns < kOwn * narrow.queue_ns || free_ns < kFree * std::min(narrow.queue_ns, missing_ns)) return;
  Finding finding{.kind = kNarrowAffinity, .lost_ns = static_cast<int64_t>(std::min(narrow.queue_ns, free_ns))};
  if (!input.IsEnough(finding.lost_ns)) return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  FindingInput::SetThreads(std::move(narrow.threads), finding);
  finding.confidence = input.account.is_exact ? Confidence::kHigh : Confidence::kMedium;
  finding.figures["cpus"] = static_cast<double>(input.Cpus());
  finding.figures["cpus_allowed"] = static_cast<double>(narrow.cpus);
  finding.figures["cpu_seconds_without_the_program"] = free_ns * 1e-9;
  finding.evidence.push_back(fmt::format("{} thread{} waited {} for a CPU, and might use {} of {} CPUs",
                                         finding.thread_count, finding.thread_count == 1 ? "" : "s",
                                         FormatDuration(finding.lost_ns), narrow.cpus, input.Cpus()));
  finding.advice =
      "Let these threads use more CPUs: whoever sets an affinity for one thread (sched_setaffinity, "
      "pthread_setaffinity_np, taskset, OMP_PROC_BIND, a binding of mpirun) also sets it for those that this thread "
      "starts. Give each thread a CPU of its own, or leave it to the kernel.";
  findings.push_back(std::move(finding));
}

/// Place at which the program computes, which a quota holds up.
CodePlace BusiestPlace(const FindingInput& input) {
  if (input.cpu_samples == nullptr) return {};
  OwnPaths paths(*input.cpu_samples, input.names);
  CodeTree code;
  for (const auto& [key, ns] : input.cpu_samples->weights) code.Add(paths.Of(key.second), static_cast<double>(ns));
  const auto parts = code.Parts();
  return parts.empty() ? CodePlace() : parts.front().place;
}

void FindThrottling(const FindingInput& input, std::vector<Finding>& findings) {
  for (const QuotaTime& time : input.Of<QuotaTimesOperator>().Snapshot()) {
    Finding finding{.kind = kThrottling, .lost_ns = time.throttled_ns};
    if (!input.IsEnough(finding.lost_ns)) continue;
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.site = BusiestPlace(input);
    finding.confidence = Confidence::kHigh;
    const double cpus = PartOf(time.quota_ns, time.period_ns);
    finding.figures["quota_cpus"] = cpus;
    finding.figures["periods"] = static_cast<double>(time.periods);
    finding.figures["throttled_periods"] = static_cast<double>(time.throttled_periods);
    finding.evidence.push_back(fmt::format("the quota is {:.2f} CPUs, and was used up in {} of {} periods of {}", cpus,
                                           time.throttled_periods, time.periods, FormatDuration(time.period_ns)));
    finding.advice =
        "Give the control group a larger quota (cpu.max, --cpus of a container, a limit of Kubernetes), or start only "
        "as many threads as it has CPUs: more of them use it up sooner, and then all wait for the next period.";
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void FindLimits(const FindingInput& input, std::vector<Finding>& findings) {
  FindNarrowAffinity(input, findings);
  FindThrottling(input, findings);
}

}  // namespace attune::analysis
