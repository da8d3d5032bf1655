/// CPUs that are idle since one thread alone can run: serial-section, late-start, tail-imbalance (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "analysis/account/lone_causes.h"
#include "analysis/findings/cpu_loss.h"
#include "analysis/findings/finding_input.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;

constexpr FindingClass kSerialSection{.name = "serial-section",
                                      .about = "One thread works alone, and the others have nothing to do",
                                      .of_lone_threads = true};
constexpr FindingClass kLateStart{
    .name = "late-start", .about = "Threads are started later than there is work for them", .of_lone_threads = true};
constexpr FindingClass kTailImbalance{.name = "tail-imbalance",
                                      .about = "Threads end at different times: one still works alone",
                                      .of_lone_threads = true};

/// Part of the runnable time in which threads run side by side; with less nobody is there to share with.
constexpr double kLeastParallel = 0.1;
/// Part of the run that would be saved.
constexpr double kLeastGain = 0.03;
/// Part of the run without a runnable thread; a program with more waits for what is outside of it.
constexpr double kMostlyIdle = 0.5;
/// Part of the time alone that is the program's start; more is no section of its work.
constexpr double kMostlyStart = 0.5;
/// Part of the time alone in which others waited to be woken: they take turns, or a busy thread is late.
constexpr double kWokenFor = 0.5;
/// Part of the time alone that one thread has; with less they take turns.
constexpr double kOneThread = 0.67;

constexpr std::string_view kSerialAdvice =
    "Only one thread does this, and CPUs are idle meanwhile: divide it among the threads, do it beside the work of the "
    "others (for the next piece, or the last one), or make it cheaper.";
constexpr std::string_view kTurnsAdvice =
    "The threads take turns, so that several are no faster than one: let them work on pieces that do not wait for each "
    "other, or keep the lock for less.";
constexpr std::string_view kLateAdvice = "Start these threads before what is done here: they need nothing of it.";
constexpr std::string_view kTailAdvice =
    "The parts are not equal: hand the work out in smaller pieces to whoever is free, and the largest pieces first.";

/// Processes whose threads wait for tasks within TBB: who has no work waits there, whatever the program does.
class TaskPools {
 public:
  explicit TaskPools(const FindingInput& input) {
    for (const ThreadLife& life : input.waits.lives) {
      const bool has_pool = std::ranges::any_of(input.ObjectsOf(life.process), [&](const auto& object) {
        return object.second->kind == wire::SyncKind::kFutex && IsOfTbb(*object.second, input.names);
      });
      if (has_pool) threads_.insert(life.thread);
    }
    if (threads_.empty()) return;
    PathReader reader(*input.cpu_samples, input.names);
    for (const auto& [key, ns] : input.cpu_samples->weights) {
      if (threads_.contains(key.first) && reader.Of(key.second).Has(PathPart::kParallel))
        searching_ns_ += static_cast<double>(ns);
    }
  }

  bool Has(const LoneSum& sum) const {
    return std::ranges::any_of(sum.by_thread, [&](const auto& alone) { return threads_.contains(alone.first); });
  }

  /// A thread that looks for tasks has no work: another one is alone meanwhile.
  void AddSearching(LoneCauses& causes) const {
    const double alone_ns = causes.serial.alone_ns + causes.late.alone_ns + causes.tail.alone_ns;
    const double added_ns = std::min(searching_ns_, static_cast<double>(causes.parallel_ns));
    if (alone_ns <= 0 || added_ns <= 0) return;
    causes.parallel_ns -= static_cast<int64_t>(added_ns);
    const double factor = 1 + added_ns / alone_ns;
    for (LoneSum* sum : {&causes.serial, &causes.late, &causes.tail}) {
      for (double* ns : {&sum->alone_ns, &sum->woken_ns, &sum->starting_ns}) *ns *= factor;
      for (auto* by_thread : {&sum->by_thread, &sum->running}) {
        for (auto& [thread, ns] : *by_thread) ns *= factor;
      }
    }
  }

 private:
  static bool IsOfTbb(const ObjectSums& object, const SiteNames& names) {
    return std::ranges::any_of(object.places, [&](const auto& place) {
      const std::string module = names.PlaceOf(place.first.first).module;
      return module.substr(module.rfind('/') + 1).starts_with("libtbb.so");
    });
  }

  std::set<ElementId> threads_;
  double searching_ns_ = 0;
};

/// Threads that one more would be as good as.
struct Width {
  double threads = 2;

  double LostNs(double alone_ns) const { return alone_ns * (threads - 1); }
  double GainNs(double alone_ns) const { return alone_ns * (threads - 1) / threads; }
};

class IdleCpus {
 public:
  IdleCpus(const FindingInput& input, const LoneCauses& causes, const TaskPools& pools)
      : input_(input), causes_(causes), pools_(pools) {
    width_.threads = std::clamp(std::round(causes.parallel_threads), 2.0, static_cast<double>(input.Cpus()));
  }

  void Find(const FindingClass& kind, std::string_view advice, const LoneSum& sum,
            std::vector<Finding>& findings) const {
    const auto parallel_ns = static_cast<double>(causes_.parallel_ns);
    if (parallel_ns < kLeastParallel * (parallel_ns + sum.alone_ns) && !pools_.Has(sum)) return;
    const double sampled_ns = sum.code.weight_ns();
    const auto parts = sum.code.Parts();
    if (sum.alone_ns <= 0 || sum.starting_ns > kMostlyStart * sum.alone_ns) return;
    if (parts.empty()) {
      AddFinding(kind, advice, sum, {.place = {}, .weight_ns = 1}, sum.alone_ns, findings);
      return;
    }
    double parts_ns = 0;
    for (const CodeTree::Part& part : parts) parts_ns += part.weight_ns;
    // The rest (starts of the program and of its threads) is shared out over the parts, where it is hardly anything.
    const double whole_ns = parts.size() == 1 ? parts_ns : sampled_ns;
    for (const CodeTree::Part& part : parts)
      AddFinding(kind, advice, sum, part, sum.alone_ns * part.weight_ns / whole_ns, findings);
  }

 private:
  void AddFinding(const FindingClass& kind, std::string_view advice, const LoneSum& sum, const CodeTree::Part& part,
                  double alone_ns, std::vector<Finding>& findings) const;

  const FindingInput& input_;
  const LoneCauses& causes_;
  const TaskPools& pools_;
  Width width_;
};

void IdleCpus::AddFinding(const FindingClass& kind, std::string_view advice, const LoneSum& sum,
                          const CodeTree::Part& part, double alone_ns, std::vector<Finding>& findings) const {
  const double wall_ns = input_.account.cpus.wall_ns;
  Finding finding{.kind = kind, .lost_ns = static_cast<int64_t>(width_.LostNs(alone_ns)), .site = part.place};
  if (!input_.IsEnough(finding.lost_ns) || width_.GainNs(alone_ns) < kLeastGain * wall_ns) return;
  finding.share = PartOf(finding.lost_ns, input_.waits.thread_ns);
  finding.gain_ns = static_cast<int64_t>(width_.GainNs(alone_ns));
  std::vector<FindingThread> alone;
  for (const auto& [thread, ns] : sum.by_thread)
    alone.push_back(input_.Thread(thread, static_cast<int64_t>(ns / sum.alone_ns * width_.LostNs(alone_ns))));
  std::ranges::stable_sort(alone, std::greater{}, &FindingThread::lost_ns);
  alone.resize(std::min(alone.size(), Finding::kMaxThreads));
  finding.caused_by = std::move(alone);
  finding.advice = advice;
  finding.confidence = !causes_.is_exact         ? Confidence::kLow
                       : part.place.name.empty() ? Confidence::kMedium
                                                 : Confidence::kHigh;
  finding.figures["alone_seconds"] = alone_ns * 1e-9;
  finding.figures["parallel_seconds"] = static_cast<double>(causes_.parallel_ns) * 1e-9;
  finding.figures["parallel_threads"] = width_.threads;
  finding.figures["stretches"] = static_cast<double>(sum.stretches);
  finding.evidence.push_back(fmt::format(
      "thread {} alone could run for {}{}, {:.0f} % of the run; in {} of it {:.1f} threads could",
      ThreadText(finding.caused_by.front()), FormatDuration(static_cast<int64_t>(alone_ns)),
      sum.stretches > 1 ? fmt::format(" in {} stretches", sum.stretches) : "", 100 * alone_ns / std::max(1.0, wall_ns),
      FormatDuration(causes_.parallel_ns), causes_.parallel_threads));
  findings.push_back(std::move(finding));
}

/// A thread that had to wait longer for a CPU than those that do the same ends later, without having more to do.
void TakeOffQueues(const FindingInput& input, const LoneCauses& causes, LoneSum& tail) {
  std::map<ElementId, double> queued;
  double all_ns = 0;
  for (const ThreadAccount& account : input.account.threads) {
    if (!causes.sharing.contains(account.thread)) continue;
    queued[account.thread] = account.queued_ns;
    all_ns += account.queued_ns;
  }
  const auto others = static_cast<double>(queued.size()) - 1;
  if (others < 1) return;
  double alone_ns = 0;
  for (auto& [thread, ns] : tail.by_thread) {
    const auto found = queued.find(thread);
    if (found != queued.end()) {
      const double before_ns = std::max(0.0, found->second - std::max(0.0, ns - tail.running[thread]));
      ns = std::max(0.0, ns - std::max(0.0, before_ns - (all_ns - found->second) / others));
    }
    alone_ns += ns;
  }
  tail.alone_ns = alone_ns;
}

/// Whether no thread is the one that is alone.
bool TakesTurns(const LoneSum& sum) {
  double most_ns = 0;
  for (const auto& [thread, ns] : sum.by_thread) most_ns = std::max(most_ns, ns);
  return sum.woken_ns >= kWokenFor * sum.alone_ns && most_ns < kOneThread * sum.alone_ns;
}

/// Whether the others wait for what this thread makes all the time, or the threads take turns: findings of their own.
bool IsLockStep(const LoneSum& sum) {
  return TakesTurns(sum) || (sum.woken_ns >= kWokenFor * sum.alone_ns && sum.in_lock_step >= kWokenFor);
}

/// Whether calls of the thread's process were seen: else how its threads take turns is known from here alone.
bool HasCalls(const FindingInput& input, const LoneSum& sum) {
  return std::ranges::any_of(input.waits.lives, [&](const ThreadLife& life) {
    return sum.by_thread.contains(life.thread) && !input.ObjectsOf(life.process).empty();
  });
}

/// Work before late starts, most first.
ElementId Most(const std::map<ElementId, double>& by_site) {
  const auto most = std::ranges::max_element(by_site, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_site.end() ? 0 : most->first;
}

/// The cause is not where one thread works meanwhile, but where the others are started.
void SayWhatIsLate(const FindingInput& input, const LoneSum& late, Finding& finding) {
  const CodePlace start = input.names.PlaceOf(Most(late.started_at));
  if (start.name.empty()) return;
  finding.places.push_back({finding.site, "one thread works alone"});
  finding.site = start;
  const CodePlace before = input.names.PlaceOf(Most(late.waited_at));
  if (!before.name.empty()) finding.places.push_back({before, "whoever starts the others waits"});
}

/// Whether a finding before has named the same thread as what others wait for.
bool IsTold(const std::vector<Finding>& findings, const LoneSum& sum) {
  constexpr double kMostOfIt = 0.5;
  const auto alone =
      std::ranges::max_element(sum.by_thread, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (alone == sum.by_thread.end()) return true;
  return std::ranges::any_of(findings, [&](const Finding& finding) {
    if (finding.kind == FindingClass::kSerialisation || finding.kind == FindingClass::kConditionWait) return true;
    return finding.kind.cost == Cost::kWaiting && static_cast<double>(finding.lost_ns) >= kMostOfIt * sum.alone_ns &&
           std::ranges::find(finding.caused_by, alone->first, &FindingThread::id) != finding.caused_by.end();
  });
}

}  // namespace

/// After the classes of files before this one, whose waiting is not told again.
void FindUnshared(const FindingInput& input, std::vector<Finding>& findings) {
  const double wall_ns = input.account.cpus.wall_ns;
  if (input.Cpus() < 2 || wall_ns <= 0 || input.cpu_samples == nullptr) return;
  if (input.account.cpus.no_thread_ns > kMostlyIdle * wall_ns) return;
  const LoneTimes times = input.Of<LoneTimesOperator>().Snapshot(input.meta, input.waits.lives, input.times);
  LoneCauses causes = FindLoneCauses(times, input.waits.lives, input.meta, *input.cpu_samples, input.names);
  TakeOffQueues(input, causes, causes.tail);
  const TaskPools pools(input);
  pools.AddSearching(causes);
  const IdleCpus idle(input, causes, pools);
  if (!IsTold(findings, causes.serial)) {
    if (!IsLockStep(causes.serial) || pools.Has(causes.serial))
      idle.Find(kSerialSection, kSerialAdvice, causes.serial, findings);
    else if (TakesTurns(causes.serial) && !HasCalls(input, causes.serial))
      idle.Find(FindingClass::kSerialisation, kTurnsAdvice, causes.serial, findings);
  }
  const size_t before = findings.size();
  idle.Find(kLateStart, kLateAdvice, causes.late, findings);
  for (size_t i = before; i < findings.size(); ++i) SayWhatIsLate(input, causes.late, findings[i]);
  idle.Find(kTailImbalance, kTailAdvice, causes.tail, findings);
}

}  // namespace attune::analysis
