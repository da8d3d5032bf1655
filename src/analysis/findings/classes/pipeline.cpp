/// Time that cores lose while a thread runs, from counted events: cache-bound, bandwidth-bound, memory-contention and
/// branch-bound (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/account/counted_events.h"
#include "analysis/account/memory_pressure.h"
#include "analysis/findings/cpu_loss.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kCacheBound{.name = "cache-bound",
                                   .about = "Threads that run wait for data that their caches have not",
                                   .cost = Cost::kCpuTime};
constexpr FindingClass kBandwidthBound{.name = "bandwidth-bound",
                                       .about = "Threads that run wait for memory, which delivers as fast as it can",
                                       .cost = Cost::kCpuTime};
constexpr FindingClass kMemoryContention{.name = "memory-contention",
                                         .about = "Threads compute more slowly while others read from memory",
                                         .cost = Cost::kCpuTime};
constexpr FindingClass kBranchBound{.name = "branch-bound",
                                    .about = "Threads that run follow branches that the processor predicts wrongly",
                                    .cost = Cost::kCpuTime};
constexpr std::string_view kCacheAdvice =
    "Use memory in the order in which it lies: work on parts that fit the caches (blocking), keep what is used "
    "together side by side, arrays in the place of lists and trees, smaller types; large pages where TLB misses are "
    "many.";
constexpr std::string_view kBandwidthAdvice =
    "Do more with each value while it is in the caches: join loops over the same arrays, work on parts that fit, use "
    "smaller types, do not write what is not read again. More threads gain nothing here; on several NUMA nodes, spread "
    "memory and threads over all of them.";
constexpr std::string_view kContentionAdvice =
    "Let fewer threads read from memory at a time, or others that compute meanwhile; on several caches or NUMA nodes "
    "put these threads on different ones, with their memory; work on parts that fit the caches.";
constexpr std::string_view kBranchAdvice =
    "Make the branch predictable or do without it: sort or divide the data by the condition, compute both sides and "
    "select, tables in the place of chains of conditions; let the compiler see real runs (-fprofile-use).";

/// Latency of an idle memory. Machines of the last ten years: 60 to 130 ns.
constexpr double kMemoryNs = 80;
/// Penalty of a wrong prediction. Optimization manuals: 11 (Cortex-A72, Zen) to 20 (Intel).
constexpr double kMissedBranchCycles = 15;
/// Assumed clock, if cycles are not counted.
constexpr double kUsualGhz = 3;
/// Reads of memory that are under way at once, on average over all of a thread's CPU time, from which on it is how fast
/// memory delivers that matters, and not how long one read takes (Little's law).
constexpr double kStreaming = 1.5;
constexpr double kLineBytes = 64;
/// Part of a process's CPU time. All programs miss caches and branches now and then.
constexpr double kLeastAtMemory = 0.2, kLeastAtBranches = 0.1, kLeastByOthers = 0.1;

// A thread with others at memory, and without: seconds in which the misses of all others have as many bits as they ever
// had in one, and those in which they have three fewer.
constexpr size_t kLevelsBetween = 3;
constexpr int kFewestWindows = 2;
/// Slower by so much. The clock's frequency does not matter: it is in cycles.
constexpr double kSlower = 1.15;
/// The work is the same if it misses the caches about as often for each instruction.
constexpr double kAlike = 1.3;

/// Loss of one thread.
struct Loss {
  double ns = 0;
  double misses = 0;
  bool is_measured = false;  ///< by the processor; else estimated from how often it happened
};

Loss LostToMemory(const EventSums& sums, double run_ns) {
  const auto cycles = CountOf(sums, {"cycles", "cpu-cycles"});
  const auto stalled = CountOf(
      sums, {"cycle_activity.stalls_mem_any", "memory_activity.stalls_l1d_miss", "cycle_activity.stalls_l1d_miss",
             "exe_activity.bound_on_loads", "stall_backend_mem", "stall_backend_mem_cycles"});
  Loss loss{.misses = MissesOf(sums).value_or(0)};
  if (stalled && cycles && *cycles > 0) {
    loss.is_measured = true;
    loss.ns = run_ns * std::min(1.0, *stalled / *cycles);
    return loss;
  }
  loss.ns = std::min(run_ns, loss.misses * kMemoryNs);
  const auto waiting = CountOf(sums, {"stalled-cycles-backend", "stall_backend", "idle-cycles-backend"});
  if (waiting && cycles && *cycles > 0) loss.ns = std::min(loss.ns, run_ns * *waiting / *cycles);
  return loss;
}

Loss LostToBranches(const EventSums& sums, double run_ns) {
  const auto speculation = CountOf(sums, {"topdown-bad-spec"}), retiring = CountOf(sums, {"topdown-retiring"}),
             frontend = CountOf(sums, {"topdown-fe-bound"}), backend = CountOf(sums, {"topdown-be-bound"});
  Loss loss{.misses = CountOf(sums, {"branch-misses", "br_misp_retired.all_branches", "br_mis_pred"}).value_or(0)};
  if (speculation && retiring && frontend && backend) {
    loss.is_measured = true;
    loss.ns = run_ns * *speculation / (*speculation + *retiring + *frontend + *backend);
    return loss;
  }
  const auto cycles = CountOf(sums, {"cycles", "cpu-cycles"});
  const double ghz = cycles && *cycles > 0 ? *cycles / run_ns : kUsualGhz;
  loss.ns = std::min(run_ns, loss.misses * kMissedBranchCycles / ghz);
  return loss;
}

/// Losses of the threads of one process.
struct ProcessSum {
  double run_ns = 0;
  double misses = 0;
  bool is_measured = true;
  std::map<ElementId, int64_t> threads;  ///< ns
  int64_t lost_ns = 0;
};

/// CPU time of a thread: as it was counted beside its events, or as the kernel accounts for it.
double RunNs(const FindingInput& input, ElementId thread, const EventSums& sums) {
  if (const auto counted = CountOf(sums, {"task-clock", "cpu-clock"})) return *counted;
  const auto times = input.times.by_thread.find(thread);
  return times == input.times.by_thread.end() ? 0 : times->second.run_ns;
}

using LossOf = Loss (*)(const EventSums& sums, double run_ns);

std::map<ElementId, ProcessSum> SumByProcess(const FindingInput& input, LossOf loss_of) {
  std::map<ElementId, ProcessSum> processes;
  for (const auto& [thread, sums] : input.Of<CountedEvents>().Sums()) {
    const model::Element* element = input.meta.FindElement(thread);
    const double run_ns = RunNs(input, thread, sums);
    if (element == nullptr || element->kind != model::ElementKind::kThread || run_ns <= 0) continue;
    const Loss loss = loss_of(sums, run_ns);
    ProcessSum& sum = processes[element->parent];
    sum.run_ns += run_ns;
    if (loss.ns < 1) continue;
    sum.misses += loss.misses;
    sum.is_measured = sum.is_measured && loss.is_measured;
    sum.threads[thread] = static_cast<int64_t>(loss.ns);
    AddTo(sum.lost_ns, static_cast<int64_t>(loss.ns));
  }
  return processes;
}

Finding PipelineFinding(const FindingInput& input, const FindingClass& kind, const ProcessSum& sum) {
  Finding finding{.kind = kind, .lost_ns = sum.lost_ns, .share = PartOf(sum.lost_ns, input.waits.thread_ns)};
  std::vector<FindingThread> threads;
  for (const auto& [thread, ns] : sum.threads) threads.push_back(input.Thread(thread, ns));
  FindingInput::SetThreads(std::move(threads), finding);
  if (const auto computing = ComputingFinding(input, kind, sum.threads)) {
    finding.site = computing->site;
    finding.places = computing->places;
  }
  finding.confidence = sum.is_measured ? Confidence::kHigh : Confidence::kLow;
  const double part = static_cast<double>(sum.lost_ns) / sum.run_ns;
  finding.figures["part_of_cpu_time"] = part;
  finding.figures["misses"] = sum.misses;
  finding.figures["is_measured"] = sum.is_measured ? 1 : 0;
  finding.evidence.push_back(fmt::format(
      "{} thread{} lost {:.0f} % of {} CPU time so: {}", finding.thread_count, finding.thread_count == 1 ? "" : "s",
      100 * part, finding.thread_count == 1 ? "its" : "their",
      sum.is_measured ? "the processor counts the cycles itself" : "an estimate, from how often it happened"));
  return finding;
}

void FindAtMemory(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, sum] : SumByProcess(input, LostToMemory)) {
    if (!input.IsEnough(sum.lost_ns) || static_cast<double>(sum.lost_ns) < kLeastAtMemory * sum.run_ns) continue;
    const double under_way = sum.misses * kMemoryNs / sum.run_ns;
    const bool is_streaming = under_way >= kStreaming;
    Finding finding = PipelineFinding(input, is_streaming ? kBandwidthBound : kCacheBound, sum);
    finding.advice = is_streaming ? kBandwidthAdvice : kCacheAdvice;
    if (sum.misses > 0) {
      finding.figures["bytes_per_second"] = sum.misses * kLineBytes * 1e9 / static_cast<double>(input.WallNs());
      finding.evidence.push_back(fmt::format(
          "{} of cache lines came from memory in a second, {:.2g} reads under way at once for each thread, at "
          "{:.0f} ns each",
          FormatBytes(static_cast<uint64_t>(finding.figures["bytes_per_second"])), under_way, kMemoryNs));
    }
    findings.push_back(std::move(finding));
  }
}

double RatioOf(double a, double b) { return b > 0 ? a / b : 0; }

/// Cycles that a thread lost while others read from memory; 0: none, or nothing to compare with.
double CyclesLostToOthers(const MemoryPressure::Levels& levels) {
  size_t most = levels.size();
  while (most > 0 && levels[most - 1].windows == 0) --most;
  if (most <= kLevelsBetween + 1) return 0;  // nobody else reads
  PressureSums with = levels[most - 1], without;
  for (size_t level = 0; level < most - kLevelsBetween; ++level) without.Add(levels[level]);
  if (with.windows < kFewestWindows || without.windows < kFewestWindows) return 0;
  const double more_misses = RatioOf(with.MissesAnInstruction(), without.MissesAnInstruction());
  const double slower = RatioOf(with.CyclesAnInstruction(), without.CyclesAnInstruction());
  if (slower < kSlower || more_misses > kAlike || more_misses < 1 / kAlike) return 0;
  return with.cycles * (1 - 1 / slower);
}

void FindContention(const FindingInput& input, std::vector<Finding>& findings) {
  // Threads of other machines take nothing away.
  if (std::ranges::count(input.meta.elements, model::ElementKind::kMachine, &model::Element::kind) > 1) return;
  const auto& counted = input.Of<CountedEvents>().Sums();
  std::map<ElementId, ProcessSum> processes;
  for (const auto& [thread, levels] : input.Of<MemoryPressure>().ByThread()) {
    const model::Element* const element = input.meta.FindElement(thread);
    const auto sums = counted.find(thread);
    if (element == nullptr || element->kind != model::ElementKind::kThread || sums == counted.end()) continue;
    const double run_ns = RunNs(input, thread, sums->second);
    const auto cycles = CountOf(sums->second, {"cycles", "cpu-cycles"});
    ProcessSum& process = processes[element->parent];
    process.run_ns += run_ns;
    if (!cycles || *cycles <= 0) continue;
    const auto lost_ns = static_cast<int64_t>(run_ns * CyclesLostToOthers(levels) / *cycles);
    if (lost_ns <= 0) continue;
    process.misses += MissesOf(sums->second).value_or(0);
    process.threads[thread] = lost_ns;
    AddTo(process.lost_ns, lost_ns);
  }
  for (const auto& [process, sum] : processes) {
    if (!input.IsEnough(sum.lost_ns) || static_cast<double>(sum.lost_ns) < kLeastByOthers * sum.run_ns) continue;
    Finding finding = PipelineFinding(input, kMemoryContention, sum);
    finding.confidence = Confidence::kMedium;
    finding.advice = kContentionAdvice;
    finding.evidence.back() = fmt::format(
        "{} thread{} took more cycles for the same work in the seconds in which others read most from memory: "
        "{:.0f} % of the CPU time",
        finding.thread_count, finding.thread_count == 1 ? "" : "s", 100 * finding.figures["part_of_cpu_time"]);
    findings.push_back(std::move(finding));
  }
}

void FindAtBranches(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, sum] : SumByProcess(input, LostToBranches)) {
    if (!input.IsEnough(sum.lost_ns) || static_cast<double>(sum.lost_ns) < kLeastAtBranches * sum.run_ns) continue;
    Finding finding = PipelineFinding(input, kBranchBound, sum);
    finding.advice = kBranchAdvice;
    if (!sum.is_measured)
      finding.evidence.push_back(fmt::format("{:.3g} branches were predicted wrongly, at {:.0f} cycles each",
                                             sum.misses, kMissedBranchCycles));
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void FindPipeline(const FindingInput& input, std::vector<Finding>& findings) {
  FindAtMemory(input, findings);
  FindContention(input, findings);
  FindAtBranches(input, findings);
}

}  // namespace attune::analysis
