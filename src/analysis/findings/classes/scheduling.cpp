/// Waiting for a CPU: oversubscription and other-programs (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "analysis/account/affinities.h"
#include "analysis/account/quota_times.h"
#include "analysis/findings/cpu_loss.h"
#include "analysis/findings/finding_input.h"
#include "base/cpu_set.h"
#include "base/units.h"
#include "model/info_keys.h"
#include "model/job_keys.h"

namespace attune::analysis {
namespace {

constexpr FindingClass kOtherPrograms{
    .name = "other-programs", .about = "Other programs have the CPUs that its threads could use", .of_others = true};

/// Threads that run or could run, by CPUs. Less is no plan gone wrong: a pipeline of three stages on two CPUs.
constexpr double kTooMany = 1.75;
/// Part of its life. A thread that wants a CPU for less is not one too many: a main thread that joins the others.
constexpr double kWantsToRun = 0.1;
/// A thread that was seen for less of its life is guessed at.
constexpr double kWellSampled = 0.75;
/// A thread that sleeps for less of its waits spins; one that sleeps has only to queue when it was woken.
constexpr double kSleepsInWaits = 0.5;
/// A thread that loses its CPU to another one finds its data in no cache of the core: some microseconds with the
/// switch.
constexpr double kSwitchNs = 5'000;

constexpr std::string_view kOthersAdvice =
    "Run it while the machine has free CPUs, give the other programs fewer (taskset, nice, a control group), or this "
    "one as many threads as there are CPUs left.";

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

/// A part of the time. Threads queue for CPUs that the program's own threads have, and for those that others have, each
/// in its part of all CPUs.
struct Split {
  double run_ns = 0;
  double own_queue_ns = 0;
  double others_queue_ns = 0;
};

Split SplitOf(const ThreadTimeBin& bin, double capacity_ns) {
  const double own = std::min(1.0, bin.run_ns / std::max(1.0, capacity_ns));
  return {bin.run_ns, bin.queue_ns * own, bin.queue_ns * (1 - own)};
}

/// Those that want to run.
std::vector<FindingThread> Runnable(const FindingInput& input, Finding& finding) {
  std::vector<FindingThread> threads;
  double sampled = 0;
  double queue_ns = 0;
  for (const auto& [id, times] : input.times.by_thread) {
    if (times.run_ns + times.queue_ns < kWantsToRun * times.life_ns) continue;
    threads.push_back(input.Thread(id, static_cast<int64_t>(std::min(times.queue_ns, 9e18))));
    sampled += times.sampled * times.queue_ns;
    queue_ns += times.queue_ns;
  }
  sampled /= std::max(1.0, queue_ns);
  std::ranges::sort(threads, {}, &FindingThread::id);
  finding.confidence = sampled >= kWellSampled ? Confidence::kHigh : Confidence::kMedium;
  finding.figures["sampled"] = std::min(1.0, sampled);
  return threads;
}

/// CPU time sampled in loops that only another thread can end, and in giving the CPU away, by thread.
std::unordered_map<model::ElementId, int64_t> SampledSpinning(const FindingInput& input) {
  std::unordered_map<model::ElementId, int64_t> by_thread;
  if (input.cpu_samples == nullptr) return by_thread;
  PathReader reader(*input.cpu_samples, input.names);
  for (const auto& [key, ns] : input.cpu_samples->weights) {
    const PathFacts& facts = reader.Of(key.second);
    if (facts.Has(PathPart::kSpinning) || facts.Has(PathPart::kYield)) AddTo(by_thread[key.first], ns);
  }
  return by_thread;
}

/// Waits at hooks and of ranks for messages, by thread. While the program runs nobody has matched the messages: then
/// all time in MPI.
std::unordered_map<model::ElementId, int64_t> Waiting(const FindingInput& input) {
  std::unordered_map<model::ElementId, int64_t> waited = input.waits.sums.waited_by_thread;
  for (const auto& [cause, sums] : input.messages.waits.ByCause()) {
    for (const auto& [thread, ns] : sums.by_thread) AddTo(waited[thread], ns);
  }
  if (input.messages.waits.ByCause().empty()) {
    for (const auto& [thread, ns] : input.Of<CallSums>().mpi_ns()) AddTo(waited[thread], ns);
  }
  return waited;
}

/// CPU time of threads that spun: in waits, such as at a team's barrier, or in loops of their own.
double SpunNs(const FindingInput& input) {
  double spun_ns = 0;
  std::unordered_map<model::ElementId, double> by_thread;
  for (const auto& [thread, ns] : SampledSpinning(input))
    by_thread[thread] = static_cast<double>(ScaledCpuTime(input, thread, ns));
  for (const auto& [id, wait_ns] : Waiting(input)) {
    const auto found = input.times.by_thread.find(id);
    if (found == input.times.by_thread.end() || wait_ns <= 0) continue;
    const ThreadTime& times = found->second;
    const double active_ns = times.run_ns + times.queue_ns;
    const auto waited_ns = static_cast<double>(wait_ns);
    const double asleep_ns = std::max(0.0, times.life_ns - active_ns);
    if (active_ns <= 0) continue;
    if (asleep_ns >= kSleepsInWaits * waited_ns) continue;
    double& spun_there_ns = by_thread[id];
    spun_there_ns = std::max(spun_there_ns, std::min(times.run_ns, (waited_ns - asleep_ns) * times.run_ns / active_ns));
  }
  for (const auto& [thread, ns] : by_thread) spun_ns += ns;
  return spun_ns;
}

double Preemptions(const FindingInput& input) {
  double switches = 0;
  for (const model::Process& process : input.meta.processes)
    switches += static_cast<double>(std::max<int64_t>(0, process.involuntary_switches));
  return switches;
}

/// More threads than CPUs cost nothing as such: they take turns. What costs is what they do because they are too many.
void FindCrowd(const FindingInput& input, double cpus, std::vector<Finding>& findings) {
  const double bin_ns = input.times.bin_ns;
  double queue_ns = 0, runnable_ns = 0, crowded_ns = 0;
  for (const ThreadTimeBin& bin : input.times.bins) {
    const Split part = SplitOf(bin, cpus * bin_ns);
    if (part.run_ns + part.own_queue_ns < kTooMany * cpus * bin_ns) continue;
    queue_ns += part.own_queue_ns;
    runnable_ns += part.run_ns + part.own_queue_ns;
    crowded_ns += bin_ns;
  }
  if (crowded_ns <= 0) return;
  const double spun_ns = SpunNs(input);
  const double switches = Preemptions(input);
  // While others queue a CPU that is used for nothing is one that these lack.
  const double cost_ns = std::min(queue_ns, spun_ns + switches * kSwitchNs);
  Finding finding{.kind = FindingClass::kOversubscription, .lost_ns = static_cast<int64_t>(std::min(cost_ns, 9e18))};
  if (!input.IsEnough(finding.lost_ns)) return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  finding.gain_ns = static_cast<int64_t>(cost_ns / cpus);
  FindingInput::SetThreads(Runnable(input, finding), finding);
  finding.figures["runnable_threads"] = runnable_ns / crowded_ns;
  finding.figures["cpus"] = cpus;
  finding.figures["queue_seconds"] = queue_ns * 1e-9;
  finding.figures["spun_seconds"] = spun_ns * 1e-9;
  finding.figures["preemptions"] = switches;
  finding.evidence.push_back(fmt::format("{:.1f} threads on average could run on {} CPUs, for {:.0f} % of the time",
                                         runnable_ns / crowded_ns, input.Cpus(),
                                         100 * crowded_ns / (bin_ns * static_cast<double>(input.times.bins.size()))));
  finding.evidence.push_back(
      fmt::format("they spun for {} of CPU time while others had no CPU, and were preempted {:.0f} times",
                  FormatDuration(static_cast<int64_t>(spun_ns)), switches));
  if (std::string names = Names(finding.threads); !names.empty()) finding.evidence.push_back(std::move(names));
  finding.advice =
      fmt::format("Start at most {} threads that compute at a time, one for each CPU that it may use.", input.Cpus());
  findings.push_back(std::move(finding));
}

/// Waiting for a CPU that no other program explains: of threads that may use fewer CPUs, and for a quota.
double HeldBackNs(const FindingInput& input) {
  double held_ns = 0;
  for (const auto& [thread, times] : input.times.by_thread) {
    const auto* by_cpus = input.Of<AffinitiesOperator>().Of(thread);
    if (by_cpus == nullptr) continue;
    for (const auto& [cpus, ns] : *by_cpus)
      held_ns += cpus < static_cast<int64_t>(input.Cpus()) ? static_cast<double>(ns) : 0;
  }
  for (const QuotaTime& time : input.Of<QuotaTimesOperator>().Snapshot())
    held_ns += static_cast<double>(time.throttled_ns);
  return held_ns;
}

/// CPU time of other programs than attune.
double OthersNs(const FindingInput& input) {
  return std::max(0.0, input.account.cpus.others_ns - static_cast<double>(input.Of<OwnUseOperator>().CpuNs()));
}

/// Queued for CPUs that others had: as the scheduler's switches say, else as far as the program used less than all.
double QueuedForOthersNs(const FindingInput& input, double cpus) {
  double queued_ns = 0;
  if (input.account.is_exact) {
    queued_ns = QueuedForOthersNs(input.account);
    // Queueing behind attune itself is no fault of others.
    const double others_ns = input.account.cpus.others_ns;
    return others_ns > 0 ? queued_ns * OthersNs(input) / others_ns : queued_ns;
  }
  for (const ThreadTimeBin& bin : input.times.bins)
    queued_ns += SplitOf(bin, cpus * input.times.bin_ns).others_queue_ns;
  queued_ns = std::max(0.0, queued_ns - HeldBackNs(input));
  // Threads that are woken often queue for a moment on a CPU that nobody has.
  return input.account.cpus.is_divided ? std::min(queued_ns, input.account.cpus.others_ns) : queued_ns;
}

void FindOthers(const FindingInput& input, double cpus, std::vector<Finding>& findings) {
  Finding finding{.kind = kOtherPrograms,
                  .lost_ns = static_cast<int64_t>(std::min(QueuedForOthersNs(input, cpus), 9e18)),
                  .advice = std::string(kOthersAdvice)};
  if (!input.IsEnough(finding.lost_ns)) return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  FindingInput::SetThreads(Runnable(input, finding), finding);
  const CpuAccount& all = input.account.cpus;
  if (input.account.is_exact && all.wall_ns > 0) {
    const double others_ns = OthersNs(input);
    finding.figures["others_cpu_seconds"] = others_ns * 1e-9;
    finding.figures["others_cpus"] = others_ns / all.wall_ns;
    finding.evidence.push_back(fmt::format("other programs had {:.1f} of {} CPUs on average, this one {:.1f}",
                                           others_ns / all.wall_ns, all.cpus, all.program_ns / all.wall_ns));
  }
  finding.evidence.push_back(
      fmt::format("its threads waited {} for a CPU that other programs had", FormatDuration(finding.lost_ns)));
  findings.push_back(std::move(finding));
}

}  // namespace

size_t FindingInput::Cpus() const {
  // A merged recording has the CPUs of all hosts.
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
  if (cpus <= 0) return;
  if (input.times.bin_ns > 0) FindCrowd(input, cpus, findings);
  FindOthers(input, cpus, findings);
}

}  // namespace attune::analysis
