/// Waiting for disks: io-wait (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/findings/finding_input.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr std::string_view kAdvice =
    "Read ahead or in larger pieces, let other threads compute meanwhile (asynchronous I/O), or write and synchronise "
    "files less often (in a database: many changes in one transaction).";
/// A thread that was seen for less of its life is guessed at.
constexpr double kWellSampled = 0.75;

/// Time of the program's threads in calls of files that took long.
struct FileCalls {
  std::map<ElementId, SyncCounts> by_thread;
  ObjectSums places;  ///< sums of all processes together
};

FileCalls AddUp(const FindingInput& input) {
  FileCalls calls;
  for (const auto& [id, files] : input.waits.sums.files) {
    for (const auto& [thread, counts] : files.ByThread()) calls.by_thread[thread].Add(counts);
    calls.places.total.Add(files.total);
    for (const auto& [place, threads] : files.places) {
      for (const auto& [thread, counts] : threads) calls.places.places[place][thread].Add(counts);
    }
  }
  return calls;
}

struct Waited {
  double ns = 0;
  bool is_accounted = false;  ///< by the kernel
  bool is_well_sampled = false;
};

/// A call also computes: it copies what was read. So a thread has waited no longer than it neither ran nor waited for
/// anything else.
Waited OfThread(const FindingInput& input, ElementId thread, double calls_ns) {
  const auto found = input.times.by_thread.find(thread);
  if (found == input.times.by_thread.end()) return {calls_ns, false, false};
  const ThreadTime& times = found->second;
  const bool is_well_sampled = times.sampled >= kWellSampled;
  if (times.io_ns > 0) return {times.io_ns, true, is_well_sampled};
  const auto others = input.waits.sums.waited_by_thread.find(thread);
  const double others_ns = others == input.waits.sums.waited_by_thread.end() ? 0 : static_cast<double>(others->second);
  return {std::min(calls_ns, std::max(0.0, times.life_ns - times.run_ns - times.queue_ns - others_ns)), false,
          is_well_sampled};
}

/// The place with most time in such calls.
CodePlace MostAt(const FindingInput& input, const FileCalls& calls) {
  ElementId site = 0;
  int64_t most_ns = 0;
  for (const auto& [place, threads] : calls.places.places) {
    int64_t ns = 0;
    for (const auto& [thread, counts] : threads) AddTo(ns, counts.wait_ns);
    if (ns <= most_ns) continue;
    most_ns = ns;
    site = place.first;
  }
  return site == 0 ? CodePlace{} : input.names.PlaceOf(site);
}

}  // namespace

void FindIo(const FindingInput& input, std::vector<Finding>& findings) {
  const FileCalls calls = AddUp(input);
  std::map<ElementId, Waited> waited;
  for (const auto& [thread, counts] : calls.by_thread)
    waited[thread] = OfThread(input, thread, static_cast<double>(std::max<int64_t>(0, counts.wait_ns)));
  for (const auto& [thread, times] : input.times.by_thread) {
    if (times.io_ns > 0) waited.try_emplace(thread, OfThread(input, thread, 0));
  }
  Finding finding{.kind = FindingClass::kIoWait, .advice = std::string(kAdvice)};
  std::vector<FindingThread> threads;
  double accounted_ns = 0;
  double sampled_ns = 0;
  for (const auto& [thread, wait] : waited) {
    const auto ns = static_cast<int64_t>(std::min(wait.ns, 4e18));
    AddTo(finding.lost_ns, ns);
    threads.push_back(input.Thread(thread, ns));
    if (wait.is_accounted) accounted_ns += wait.ns;
    if (wait.is_well_sampled) sampled_ns += wait.ns;
  }
  if (!input.IsEnough(finding.lost_ns)) return;
  const auto part_of = [&](double ns) { return std::min(1.0, ns / static_cast<double>(finding.lost_ns)); };
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  FindingInput::SetThreads(std::move(threads), finding);
  finding.site = MostAt(input, calls);
  finding.waiters = WaitingSites(calls.places, input.names);
  finding.figures["accounted"] = part_of(accounted_ns);
  finding.figures["call_seconds"] = static_cast<double>(calls.places.total.wait_ns) * 1e-9;
  finding.figures["long_calls"] = static_cast<double>(calls.places.total.waits);
  const bool is_sampled = part_of(sampled_ns) >= kWellSampled;
  const bool is_accounted = part_of(accounted_ns) >= kWellSampled;
  if (!is_sampled)
    finding.confidence = Confidence::kLow;
  else if (is_accounted && !finding.site.name.empty())
    finding.confidence = Confidence::kHigh;
  finding.evidence.push_back(fmt::format("{} thread{} waited, in {} calls of files that took long",
                                         finding.thread_count, finding.thread_count == 1 ? "" : "s",
                                         calls.places.total.waits));
  finding.evidence.emplace_back(
      is_accounted ? "the kernel has accounted for the time"
                   : "counted is the part of these calls in which they neither ran nor waited for a CPU; with sysctl "
                     "kernel.task_delayacct=1 also waits for mapped files");
  findings.push_back(std::move(finding));
}

}  // namespace attune::analysis
