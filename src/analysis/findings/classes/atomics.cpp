/// Memory that several threads update by atomic instructions all the time: true-sharing, and the same in the C
/// library's allocator: allocator-contention (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "analysis/findings/cpu_loss.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kTrueSharing{
    .name = "true-sharing", .about = "Threads update the same data all the time", .cost = Cost::kCpuTime};
constexpr FindingClass kAllocator{
    .name = "allocator-contention", .about = "Threads wait for the locks of the allocator", .cost = Cost::kCpuTime};
constexpr std::string_view kSharingAdvice =
    "Let each thread have its own (a counter that is added up when it is read; a reference or a std::shared_ptr "
    "that is passed on instead of copied), or update it once for many events.";
constexpr std::string_view kAllocatorAdvice =
    "Allow an arena for each thread (MALLOC_ARENA_MAX, M_ARENA_MAX), do not turn off the threads' own caches "
    "(glibc.malloc.tcache_count), allocate less often, or use an allocator made for threads (jemalloc, tcmalloc, "
    "mimalloc).";
/// Samples of one thread at one line; fewer may be chance.
constexpr int64_t kLeastSamples = 5;
/// Part of each thread's CPU time.
constexpr double kLeastPartOfThread = 0.02;

/// Sampled CPU time at atomic instructions: of each thread and place the call path with most of it.
using AtomicPaths = std::map<std::pair<ElementId, ElementId>, std::pair<int64_t, int64_t>>;  ///< stack and ns

AtomicPaths FindAtomicPaths(const SampleSums& samples, PathReader& reader) {
  AtomicPaths paths;
  for (const auto& [key, ns] : samples.weights) {
    if (!reader.Of(key.second).Has(PathPart::kAtomic)) continue;
    const std::vector<ElementId> path = samples.PathOf(key.second);
    if (path.size() < 2) continue;
    auto& [stack, most_ns] = paths[{key.first, path[path.size() - 2]}];  // the mark is the last
    if (ns <= most_ns) continue;
    stack = key.second;
    most_ns = ns;
  }
  return paths;
}

/// A thread that spends time at a line, where it updates it by an atomic instruction.
struct Updater {
  ElementId thread = 0;
  int64_t stack = 0;
  const LineUse* use = nullptr;
};

/// Those that update the same bytes of the line in the same stretch of time, on several CPUs.
std::vector<Updater> UpdatersOf(const FindingInput& input, const AtomicPaths& paths,
                                const std::map<ElementId, LineUse>& line) {
  std::vector<Updater> found;
  uint64_t bytes = ~uint64_t{0}, cpus = 0;
  int64_t from = INT64_MIN, until = INT64_MAX;
  for (const auto& [thread, use] : line) {
    const auto sampled = input.memory.sampled_ns.find(thread);
    const int64_t all_ns = sampled == input.memory.sampled_ns.end() ? 0 : sampled->second;
    const auto path = paths.find({thread, MostOf(use.write_sites)});
    const bool is_much = PartOf(use.weight_ns, all_ns) >= kLeastPartOfThread;
    if (use.write_samples < kLeastSamples || !is_much || path == paths.end() || (bytes & use.write_mask) == 0) continue;
    bytes &= use.write_mask;
    cpus |= use.cpu_mask;
    from = std::max(from, use.first_ns);
    until = std::min(until, use.last_ns);
    found.push_back({thread, path->second.first, &use});
  }
  if (found.size() < 2 || std::popcount(cpus) < 2 || from >= until) return {};
  return found;
}

/// Sampled time at such lines, in the program's own code and in the allocator.
struct Updates {
  CpuLoss own;
  CpuLoss allocator;
  std::map<ElementId, std::set<int64_t>> lines;  ///< cache lines of `own`, by process
};

void AddLines(const FindingInput& input, PathReader& reader, Updates& updates) {
  const AtomicPaths paths = FindAtomicPaths(*input.cpu_samples, reader);
  if (paths.empty()) return;
  for (const auto& [key, line] : input.memory.shared) {
    for (const Updater& updater : UpdatersOf(input, paths, line)) {
      const PathFacts& facts = reader.Of(updater.stack);
      if (facts.Has(PathPart::kAllocate)) {
        updates.allocator.Add(updater.thread, updater.stack, updater.use->weight_ns);
      } else if (!facts.Has(PathPart::kLibc) && !facts.Has(PathPart::kParallel)) {
        updates.own.Add(updater.thread, updater.stack, updater.use->weight_ns);
        updates.lines[key.first].insert(key.second);
      }
    }
  }
}

/// CPU time at the allocator's locks, in the program and in the kernel.
void AddLocks(const FindingInput& input, PathReader& reader, CpuLoss& allocator) {
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    const PathFacts& facts = reader.Of(key.second);
    if (facts.Has(PathPart::kAllocate) && (facts.Has(PathPart::kLockOfLibrary) || facts.Has(PathPart::kSwitch)))
      allocator.Add(key.first, key.second, ns);
  }
}

/// Time asleep at futexes that no hook explains: of a thread that is seen at the allocator's locks it is for them.
int64_t AsleepNs(const FindingInput& input, const ProcessLoss& loss) {
  int64_t asleep_ns = 0;
  for (const ThreadAccount& thread : input.account.threads) {
    if (!loss.threads.contains(thread.thread)) continue;
    for (const AccountLine& line : thread.lines) {
      if (line.name == model::ToString(model::TimeState::kFutex)) AddTo(asleep_ns, static_cast<int64_t>(line.ns));
    }
  }
  return asleep_ns;
}

void AddAllocator(const FindingInput& input, const CpuLoss& allocator, std::vector<Finding>& findings) {
  for (const auto& [process, loss] : allocator.by_process()) {
    if (loss.threads.size() < 2) continue;
    Finding finding = CpuFinding(input, kAllocator, loss);
    const int64_t asleep_ns = AsleepNs(input, loss);
    AddTo(finding.lost_ns, asleep_ns);
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    if (!input.IsEnough(finding.lost_ns)) continue;
    finding.figures["asleep_seconds"] = static_cast<double>(asleep_ns) * 1e-9;
    finding.evidence.push_back(
        fmt::format("{} threads spend {:.0f} % of their CPU time at the locks of malloc and free, and sleep there",
                    finding.thread_count, 100 * finding.figures["part_of_cpu_time"]));
    finding.advice = kAllocatorAdvice;
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void FindAtomics(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.cpu_samples == nullptr) return;
  PathReader reader(*input.cpu_samples, input.names);
  Updates updates{.own = CpuLoss(input), .allocator = CpuLoss(input), .lines = {}};
  AddLines(input, reader, updates);
  AddLocks(input, reader, updates.allocator);
  AddAllocator(input, updates.allocator, findings);
  for (const auto& [process, loss] : updates.own.by_process()) {
    Finding finding = CpuFinding(input, kTrueSharing, loss);
    if (!input.IsEnough(finding.lost_ns)) continue;
    const std::set<int64_t>& lines = updates.lines[process];
    finding.object_name = fmt::format("cache line {:#x}{}",
                                      static_cast<uint64_t>(*lines.begin()) * static_cast<uint64_t>(kCacheLineBytes),
                                      lines.size() > 1 ? fmt::format(" and {} more", lines.size() - 1) : "");
    finding.figures["cache_lines"] = static_cast<double>(lines.size());
    finding.evidence.push_back(fmt::format(
        "{} threads spend {:.0f} % of their CPU time to update the same bytes, which each of them takes away "
        "from the others; how much of that they wait only counters of the hardware tell",
        finding.thread_count, 100 * finding.figures["part_of_cpu_time"]));
    finding.advice = kSharingAdvice;
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
