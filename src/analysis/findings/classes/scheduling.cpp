/// Waiting for a CPU: oversubscription (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/finding_input.h"
#include "base/cpu_set.h"
#include "model/info_keys.h"
#include "model/job_keys.h"

namespace attune::analysis {
namespace {

/// Threads that run or could run, by CPUs. Less is no plan gone wrong: a pipeline of three stages on two CPUs.
constexpr double kTooMany = 1.75;
/// Of its life. A thread that wants a CPU for less is not one too many: a main thread that waits for the others to end.
constexpr double kWantsToRun = 0.1;
/// A thread that was seen for less of its life is guessed at.
constexpr double kWellSampled = 0.75;

/// "they are called io_1, io_2, io_3, ...", which may say what option starts them; "": they have no names.
std::string Names(const std::vector<FindingThread>& threads) {
  constexpr size_t kMost = 4;
  std::vector<std::string> names;
  for (const FindingThread& thread : threads) {
    if (!thread.name.empty() && std::find(names.begin(), names.end(), thread.name) == names.end())
      names.push_back(thread.name);
  }
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "they are called " : ", ") + names[i];
  return names.size() > kMost ? text + ", ..." : text;
}

}  // namespace

size_t FindingInput::Cpus() const {
  // Of a merged recording those of all hosts.
  size_t of_hosts = 0;
  for (const auto& [key, value] : meta.info) {
    if (!key.starts_with(model::info::kMergedPrefix) || !key.ends_with(model::info::kCpusAllowed)) continue;
    if (const auto cpus = CpuSet::Parse(value); cpus.ok()) of_hosts += cpus->size();
  }
  if (of_hosts > 0) return of_hosts;
  for (const std::string_view key : {model::info::kCpusAllowed, model::info::kCpusOnline}) {
    const auto found = meta.info.find(std::string(key));
    if (found == meta.info.end()) continue;
    if (const auto cpus = CpuSet::Parse(found->second); cpus.ok() && !cpus->empty()) return cpus->size();
  }
  return 0;
}

void FindScheduling(const FindingInput& input, std::vector<Finding>& findings) {
  const auto cpus = static_cast<double>(input.Cpus());
  const double bin_ns = input.times.bin_ns;
  if (cpus <= 0 || bin_ns <= 0) return;
  double queue_ns = 0;
  double runnable_ns = 0;
  double crowded_ns = 0;
  for (const ThreadTimeBin& bin : input.times.bins) {
    if (bin.run_ns + bin.queue_ns < kTooMany * cpus * bin_ns) continue;
    queue_ns += bin.queue_ns;
    runnable_ns += bin.run_ns + bin.queue_ns;
    crowded_ns += bin_ns;
  }
  Finding finding{.kind = FindingClass::kOversubscription,
                  .lost_ns = static_cast<int64_t>(std::clamp(queue_ns, 0.0, 9e18))};
  if (!input.IsEnough(finding.lost_ns)) return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  std::vector<FindingThread> threads;
  double sampled = 0;
  for (const auto& [id, times] : input.times.by_thread) {
    if (times.run_ns + times.queue_ns < kWantsToRun * times.life_ns) continue;
    threads.push_back(input.Thread(id, static_cast<int64_t>(std::min(times.queue_ns, 9e18))));
    sampled += times.sampled * times.queue_ns / std::max(1.0, queue_ns);
  }
  std::sort(threads.begin(), threads.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  FindingInput::SetThreads(std::move(threads), finding);
  finding.confidence = sampled >= kWellSampled ? Confidence::kHigh : Confidence::kMedium;
  finding.figures["runnable_threads"] = runnable_ns / crowded_ns;
  finding.figures["cpus"] = cpus;
  finding.figures["sampled"] = std::min(1.0, sampled);
  finding.evidence.push_back(fmt::format("{:.1f} threads on average could run on {} CPUs, for {:.0f} % of the time",
                                         runnable_ns / crowded_ns, input.Cpus(),
                                         100 * crowded_ns / (bin_ns * static_cast<double>(input.times.bins.size()))));
  if (std::string names = Names(finding.threads); !names.empty()) finding.evidence.push_back(std::move(names));
  finding.advice =
      fmt::format("Start at most {} threads that compute at a time, one for each CPU that it may use.", input.Cpus());
  findings.push_back(std::move(finding));
}

}  // namespace attune::analysis
