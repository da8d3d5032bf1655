/// Memory that comes and goes: page-faults (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/cpu_loss.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kPageFaults{.name = "page-faults",
                                   .about = "Pages of memory are given back and asked for again and again",
                                   .cost = Cost::kCpuTime};
constexpr std::string_view kKeepAdvice =
    "Keep the memory and use it again, rather than to map and unmap it each time; where it must be new, ask for it in "
    "one step (MAP_POPULATE) or in huge pages.";
constexpr std::string_view kAllocatorAdvice =
    "Keep the buffers and use them again, or let the allocator keep the memory that is freed: mallopt(M_TRIM_THRESHOLD "
    "and M_MMAP_THRESHOLD), or GLIBC_TUNABLES=glibc.malloc.trim_threshold=N:glibc.malloc.mmap_threshold=N with N above "
    "what is freed at a time.";
constexpr std::string_view kCopyAdvice =
    "Each fork makes what both processes write to be copied page by page: fork less often, before the memory is "
    "filled, "
    "or start programs by posix_spawn; huge pages make fewer faults.";
/// Part of the faults that makes them copies of pages.
constexpr double kMostlyCopies = 0.5;
/// Part of the faults after memory was first given back. Memory that is touched once has none.
constexpr double kMostlyAgain = 0.5;
/// Copies go on for so much of a process's life at least: after one fork they end soon.
constexpr double kGoesOn = 0.25;
/// CPU time in which memory is given back, by that in faults. A page that is given back costs a tenth to a third of one
/// that is asked for.
constexpr double kLeastRelease = 0.02;

struct Paging {
  CpuLoss faults;
  struct Process {
    int64_t faults_ns = 0;
    int64_t copies_ns = 0;
    int64_t release_ns = 0;
    int64_t release_of_allocator_ns = 0;
    int64_t first_release_ns = INT64_MAX;
    int64_t first_ns = INT64_MAX;  ///< first fault; last_ns: the last one
    int64_t last_ns = INT64_MIN;
    std::vector<std::pair<model::TimeRange, int64_t>> when;  ///< time ranges of faults, with CPU time
  };
  std::map<ElementId, Process> processes;
};

void AddFault(const model::TimeRange& times, int64_t ns, bool is_copy, Paging::Process& process) {
  AddTo(process.faults_ns, ns);
  if (is_copy) AddTo(process.copies_ns, ns);
  process.first_ns = std::min(process.first_ns, times.t0_ns);
  process.last_ns = std::max(process.last_ns, times.t1_ns);
  process.when.emplace_back(times, ns);
}

void AddRelease(const model::TimeRange& times, int64_t ns, bool is_of_allocator, Paging::Process& process) {
  AddTo(process.release_ns, ns);
  if (is_of_allocator) AddTo(process.release_of_allocator_ns, ns);
  process.first_release_ns = std::min(process.first_release_ns, times.t0_ns);
}

Paging AddUp(const FindingInput& input) {
  Paging paging{.faults = CpuLoss(input), .processes = {}};
  PathReader reader(*input.cpu_samples, input.names);
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    const PathFacts& facts = reader.Of(key.second);
    const bool is_fault = facts.Has(PathPart::kFault);
    const bool is_release = !is_fault && facts.Has(PathPart::kRelease);
    const model::Element* element = input.meta.FindElement(key.first);
    const auto times = input.cpu_samples->times.find(key);
    if (!(is_fault || is_release) || facts.Has(PathPart::kExit) || element == nullptr ||
        times == input.cpu_samples->times.end())
      continue;
    Paging::Process& process = paging.processes[element->parent];
    if (is_release) {
      AddRelease(times->second, ns, facts.Has(PathPart::kAllocate), process);
      continue;
    }
    AddFault(times->second, ns, facts.Has(PathPart::kCopy), process);
    paging.faults.Add(key.first, key.second, ns);
  }
  return paging;
}

/// The part of the faults behind a time, if each call path's were even from its first sample to its last.
double PartBehind(const Paging::Process& process, int64_t t_ns) {
  double behind_ns = 0;
  for (const auto& [times, ns] : process.when) {
    const auto length = static_cast<double>(times.t1_ns - times.t0_ns);
    const auto behind = static_cast<double>(times.t1_ns - std::clamp(t_ns, times.t0_ns, times.t1_ns));
    behind_ns += static_cast<double>(ns) * (length > 0 ? behind / length : t_ns <= times.t0_ns ? 1.0 : 0.0);
  }
  return behind_ns / std::max(1.0, static_cast<double>(process.faults_ns));
}

double LifeOf(const FindingInput& input, ElementId process) {
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (const ThreadLife& life : input.waits.lives) {
    if (life.process != process) continue;
    first = std::min(first, life.start_ns);
    last = std::max(last, life.end_ns);
  }
  return last > first ? static_cast<double>(last) - static_cast<double>(first) : 0;
}

}  // namespace

void FindFaults(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.cpu_samples == nullptr) return;
  const Paging paging = AddUp(input);
  for (const auto& [id, loss] : paging.faults.by_process()) {
    const Paging::Process& process = paging.processes.at(id);
    const double copies = PartOf(process.copies_ns, process.faults_ns);
    const bool is_copying = copies >= kMostlyCopies &&
                            static_cast<double>(process.last_ns - process.first_ns) >= kGoesOn * LifeOf(input, id);
    const bool is_again = PartOf(process.release_ns, process.faults_ns) >= kLeastRelease &&
                          PartBehind(process, process.first_release_ns) >= kMostlyAgain;
    if (!is_copying && !is_again) continue;
    Finding finding = CpuFinding(input, kPageFaults, loss);
    if (!input.IsEnough(finding.lost_ns)) continue;
    const bool is_allocator = process.release_of_allocator_ns * 2 >= process.release_ns;
    finding.advice = is_copying ? kCopyAdvice : is_allocator ? kAllocatorAdvice : kKeepAdvice;
    finding.figures["copies"] = copies;
    finding.figures["release_seconds"] = static_cast<double>(process.release_ns) * 1e-9;
    finding.evidence.push_back(fmt::format("{:.0f} % of the CPU time of {} thread{} goes to page faults",
                                           100 * finding.figures["part_of_cpu_time"], finding.thread_count,
                                           finding.thread_count == 1 ? "" : "s"));
    if (process.release_ns > 0)
      finding.evidence.push_back(fmt::format("to give memory back to the kernel took {} more{}",
                                             FormatDuration(process.release_ns),
                                             is_allocator ? ", most of it in the allocator" : ""));
    if (is_copying) finding.evidence.emplace_back("most of these faults copy a page that a fork has made common");
    findings.push_back(std::move(finding));
  }
}

}  // namespace attune::analysis
