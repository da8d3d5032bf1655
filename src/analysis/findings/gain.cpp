#include "analysis/findings/gain.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace attune::analysis {
namespace {

using model::ElementId;

/// A process, or all of them together.
struct Work {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  double cpu_ns = 0;  ///< 0: not known

  double LifeNs() const { return end_ns > start_ns ? static_cast<double>(end_ns - start_ns) : 0; }
  double CpusUsed() const { return LifeNs() > 0 ? cpu_ns / LifeNs() : 0; }
  void Add(const Work& other) {
    start_ns = std::min(start_ns, other.start_ns);
    end_ns = std::max(end_ns, other.end_ns);
    cpu_ns += other.cpu_ns;
  }
  /// It takes as long as its work needs on all CPUs, at least. @param burnt_ns of CPU time, that it need not do
  double ShorterNs(double cpus, double burnt_ns) const {
    const double least_ns = cpus > 0 ? std::max(0.0, cpu_ns - burnt_ns) / cpus : 0;
    return std::max(0.0, LifeNs() - least_ns);
  }
};

/// CPU time as the kernel added it up at a process's end; while it runs, as it is accounted for.
std::map<ElementId, Work> WorkByProcess(const FindingInput& input) {
  std::map<ElementId, Work> processes;
  for (const ThreadLife& life : input.waits.lives)
    processes[life.process].Add({.start_ns = life.start_ns, .end_ns = life.end_ns});
  for (const ThreadAccount& thread : input.account.threads) {
    if (const auto found = processes.find(thread.process); found != processes.end())
      found->second.cpu_ns += thread.running_ns;
  }
  for (const model::Process& process : input.meta.processes) {
    const auto found = processes.find(process.id);
    if (found == processes.end() || process.user_ns == model::kAbsent || process.system_ns == model::kAbsent) continue;
    found->second.cpu_ns = static_cast<double>(SaneTime(process.user_ns) + SaneTime(process.system_ns));
  }
  return processes;
}

/// Those of the threads that lost something, else that of the object; none: it is about no process.
std::set<ElementId> ProcessesOf(const FindingInput& input, const Finding& finding) {
  std::set<ElementId> processes;
  const auto add_parent = [&](ElementId id) {
    if (const model::Element* element = input.meta.FindElement(id); element != nullptr)
      processes.insert(element->kind == model::ElementKind::kProcess ? element->id : element->parent);
  };
  for (const FindingThread& thread : finding.threads) add_parent(thread.id);
  if (processes.empty()) add_parent(finding.object);
  return processes;
}

/// CPU time of a finding's loss. Who waits without sleeping (ranks of MPI, spin locks, teams of OpenMP) computes
/// nothing, and the rest of its time is no work that needs a CPU: a thread slept for no more than it did not run or
/// queue.
double BurntNs(const FindingInput& input, const Finding& finding) {
  if (finding.kind.cost == Cost::kCpuTime) return static_cast<double>(finding.lost_ns);
  double burnt_ns = 0, known_ns = 0;
  for (const FindingThread& thread : finding.threads) {
    const auto lost_ns = static_cast<double>(thread.lost_ns);
    known_ns += lost_ns;
    const auto& accounts = input.account.threads;
    const auto account = std::ranges::find(accounts, thread.id, &ThreadAccount::thread);
    if (account == accounts.end()) {
      burnt_ns += finding.kind.of_ranks ? lost_ns : 0;
      continue;
    }
    const double active_ns = account->running_ns + account->queued_ns;
    if (active_ns <= 0) continue;
    const double awake_ns = lost_ns - std::max(0.0, account->life_ns - active_ns);
    burnt_ns += std::clamp(awake_ns * account->running_ns / active_ns, 0.0, account->running_ns);
  }
  // Only those that lost most are listed.
  return known_ns > 0 ? burnt_ns * std::max(1.0, static_cast<double>(finding.lost_ns) / known_ns) : burnt_ns;
}

/// Time in which threads queued behind others of the program.
double QueuedNs(const FindingInput& input) {
  double queued_ns = 0;
  for (const ThreadAccount& thread : input.account.threads) {
    queued_ns +=
        input.account.is_exact ? LineNs(thread, model::ToString(model::TimeState::kQueuedProgram)) : thread.queued_ns;
  }
  return queued_ns;
}

bool NeedsGain(const Finding& finding) {
  return finding.lost_ns > 0 && finding.kind.cost != Cost::kCorrectness && finding.kind.cost != Cost::kHang;
}

}  // namespace

int64_t BoundGain(const FindingInput& input, const Finding& finding) {
  const auto lost_ns = static_cast<double>(finding.lost_ns);
  const auto cpus = static_cast<double>(input.Cpus());
  const double burnt_ns = BurntNs(input, finding);
  const std::map<ElementId, Work> processes = WorkByProcess(input);
  std::set<ElementId> about = ProcessesOf(input, finding);
  std::erase_if(about, [&processes](ElementId id) { return !processes.contains(id); });
  Work all;
  Work own;
  double shorter_ns = 0;
  for (const auto& [process, work] : processes) {
    all.Add(work);
    if (!about.empty() && !about.contains(process)) continue;
    own.Add(work);
    shorter_ns = std::max(shorter_ns, work.ShorterNs(cpus, burnt_ns));
  }
  double gain_ns = std::min(lost_ns, all.ShorterNs(cpus, burnt_ns));
  // Processes that follow each other become shorter one by one.
  if (about.size() == 1) gain_ns = std::min(gain_ns, shorter_ns);
  if (finding.kind.cost == Cost::kCpuTime) gain_ns = std::min(gain_ns, lost_ns / std::max(1.0, own.CpusUsed()));
  return static_cast<int64_t>(std::clamp(gain_ns, 0.0, 9e18));
}

void RankByGain(const FindingInput& input, std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    if (finding.gain_ns == Finding::kUnknownGain) finding.gain_ns = BoundGain(input, finding);
  }
  const int64_t wall_ns = input.WallNs();
  std::erase_if(findings, [wall_ns](const Finding& finding) {
    return NeedsGain(finding) && PartOf(finding.gain_ns, wall_ns) < kLeastGainShare;
  });
  for (Finding& finding : findings) {
    if (!finding.kind.takes_cpus_only) continue;
    finding.gain_ns = std::min(finding.gain_ns, static_cast<int64_t>(std::min(QueuedNs(input), 9e18)));
  }
  const auto rank = [](const Finding& finding) {
    return std::tuple(finding.kind.cost == Cost::kHang, finding.gain_ns, finding.lost_ns);
  };
  std::ranges::stable_sort(findings, std::greater{}, rank);
}

}  // namespace attune::analysis
