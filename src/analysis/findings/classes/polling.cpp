/// Work that lies ready while a thread sleeps: timeout-wait and polling-delay (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/findings/child_lives.h"
#include "analysis/findings/interpreter_lock.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr FindingClass kTimeoutWait{.name = "timeout-wait",
                                    .about = "Waits end by their time limit, though what they wait for is there before",
                                    .explains_turns = true};
constexpr FindingClass kPollingDelay{.name = "polling-delay",
                                     .about = "A thread sleeps between looks at what another one makes",
                                     .explains_turns = true};

constexpr std::string_view kTimeoutAdvice =
    "Nobody announces what is waited for: signal the condition (or write to the descriptor, post the event) that the "
    "wait is for when it is there, rather than to shorten the limit.";
constexpr std::string_view kPollingAdvice =
    "Let the other side say when it is done (a condition, a semaphore, std::atomic::wait, a futex, a pipe), and wait "
    "for that rather than to sleep.";

constexpr int64_t kFewTimes = 10;
constexpr int64_t kPaceNs = 90'000'000;       ///< rarer looks are housekeeping, and their delay is not noticed
constexpr int64_t kSleepPaceNs = 45'000'000;  ///< the same of sleeps and polls, which also are the pace of a loop
constexpr double kMostlyUnserved = 0.9;       ///< part of the waits
constexpr double kLeastAsleep = 0.05;         ///< part of the thread's life
constexpr double kWakesOthers = 0.5;          ///< wake-ups of others for each sleep
constexpr double kOthersBusy = 0.5;  ///< CPUs that other threads of the process use: the sleeper is a helper then
constexpr double kMainPart = 0.8;    ///< part of the process's CPU time: the work is the sleeper's own
constexpr double kSomeWork = 0.01;   ///< CPU time by the time asleep: with less there is nothing to be late for
constexpr double kPartner = 0.01;    ///< part of its life for which a partner works
constexpr double kMuchWork = 0.05;
constexpr double kInALock = 0.5;  ///< the process's waits for locks, by the time asleep: it sleeps in one that it has
constexpr double kEndsOfSleeps = 0.25;  ///< children by sleeps: it is their ends that it looks for
constexpr double kMostlyRunning = 0.9;  ///< part of the sleeps in which there was a child: it is hardly late for them

/// A thread's sleeps at a place.
struct Sleeps {
  ElementId thread = 0;
  ElementId process = 0;
  ElementId object = 0;
  ElementId site = 0;
  SyncKind kind = SyncKind::kNone;
  int64_t times = 0;
  int64_t ns = 0;
};

class Sleepers {
 public:
  explicit Sleepers(const FindingInput& input)
      : activity_(ActivityOf(input)), children_(input, activity_), has_ranks_(input.messages.ranks_ns > 0) {
    for (const ThreadLife& life : input.waits.lives) lives_[life.thread] = life;
    for (const auto& [id, object] : input.waits.sums.objects) {
      const model::Element* element = input.meta.FindElement(id);
      if (element != nullptr && IsLock(object.kind)) AddTo(at_locks_[element->parent], object.total.wait_ns);
      for (const auto& [place, threads] : object.places) {
        if (place.second != SyncKind::kWake || IsReleaseOfInterpreter(input, object, place.first)) continue;
        for (const auto& [thread, counts] : threads) AddTo(wakes_[thread], std::max<int64_t>(0, counts.count));
      }
    }
    for (const auto& [id, calls] : input.Of<CallSums>().calls()) {
      if (calls.kind != SyncKind::kSleep) continue;
      for (const auto& [thread, counts] : calls.ByThread()) AddTo(slept_[thread], counts.wait_ns);
    }
    std::set<ElementId> processes;
    for (const ThreadLife& life : input.waits.lives) processes.insert(life.process);
    has_other_processes_ = processes.size() > 1;
  }

  std::vector<Sleeps> Find(const CallSums& sums) const {
    std::vector<Sleeps> delayed;
    const auto add = [&](Sleeps sleeps) {
      if (DelaysWork(sleeps)) delayed.push_back(sleeps);
    };
    for (const auto& [id, calls] : sums.calls()) {
      if (calls.kind != SyncKind::kSleep) continue;
      for (const auto& [place, threads] : calls.places) {
        for (const auto& [thread, counts] : threads)
          add({thread, 0, id, place.first, place.second, counts.waits, counts.wait_ns});
      }
    }
    for (const auto& [key, waits] : sums.unserved()) {
      const auto& [thread, object, site, kind] = key;
      if (kind != SyncKind::kSleep && PartOf(waits.unserved, waits.waits) >= kMostlyUnserved)
        add({thread, 0, object, site, kind, waits.unserved, waits.unserved_ns});
    }
    return delayed;
  }

 private:
  /// Whether the program has something to do that the sleeper is late for: it sleeps often and not for long, hardly
  /// anybody else is busy meanwhile, and then it goes on with work of its own, or gives others what they wait for.
  bool DelaysWork(Sleeps& sleeps) const {
    if (sleeps.times < kFewTimes) return false;
    const bool is_pace = sleeps.kind == SyncKind::kSleep || sleeps.kind == SyncKind::kPoll;
    if (sleeps.ns / sleeps.times >= (is_pace ? kSleepPaceNs : kPaceNs)) return false;
    const auto life = lives_.find(sleeps.thread);
    if (life == lives_.end() || PartOf(sleeps.ns, life->second.LengthNs()) < kLeastAsleep) return false;
    sleeps.process = life->second.process;
    const double own_ns = activity_.RunOf(sleeps.thread);
    const double process_ns = activity_.RunOf(sleeps.process);
    const auto asleep_ns = static_cast<double>(sleeps.ns);
    if (process_ns - own_ns > kOthersBusy * static_cast<double>(life->second.LengthNs())) return false;
    const auto at_locks = at_locks_.find(sleeps.process);
    if (sleeps.kind == SyncKind::kSleep && at_locks != at_locks_.end() &&
        PartOf(at_locks->second, sleeps.ns) >= kInALock)
      return false;
    const auto wakes = wakes_.find(sleeps.thread);
    const bool wakes_others =
        wakes != wakes_.end() && static_cast<double>(wakes->second) >= kWakesOthers * static_cast<double>(sleeps.times);
    if (wakes_others) return PartnersRun(sleeps) >= kSomeWork * asleep_ns;
    if (sleeps.kind == SyncKind::kSleep && LooksForEnds(sleeps)) return true;
    // Alone, a sleep is the pace that somebody wanted; ranks learn by messages what others have made.
    if (sleeps.kind == SyncKind::kSleep && (!has_other_processes_ || has_ranks_)) return false;
    return own_ns >= kMainPart * process_ns && own_ns >= (is_pace ? kMuchWork : kSomeWork) * asleep_ns;
  }

  /// Whether it sleeps until a process has ended that it started (waitpid with WNOHANG): they follow each other.
  bool LooksForEnds(const Sleeps& sleeps) const {
    const ChildLives children = children_.Of(sleeps.process);
    return PartOf(children.count, sleeps.times) >= kEndsOfSleeps && children.IsOneAtATime() &&
           children.active_ns >= kSomeWork * static_cast<double>(sleeps.ns) &&
           PartOf(children.covered_ns, sleeps.ns) <= kMostlyRunning;
  }

  /// CPU time of the thread for which the sleeper may look: who sleeps just as much waits for none of it. Several are a
  /// pool, to which the sleeper hands out work at the pace at which it comes.
  double PartnersRun(const Sleeps& sleeps) const {
    if (sleeps.kind != SyncKind::kSleep) return activity_.RunOf(sleeps.process);
    double run_ns = 0;
    int partners = 0;
    for (const auto& [thread, life] : lives_) {
      if (life.process != sleeps.process || thread == sleeps.thread) continue;
      const auto slept = slept_.find(thread);
      if (slept != slept_.end() && PartOf(slept->second, life.LengthNs()) >= kLeastAsleep) continue;
      const double of_thread_ns = activity_.RunOf(thread);
      if (of_thread_ns >= kPartner * static_cast<double>(life.LengthNs())) ++partners;
      run_ns += of_thread_ns;
    }
    return partners > 1 ? 0 : run_ns;
  }

  const Activity activity_;
  const Children children_;
  std::unordered_map<ElementId, int64_t> at_locks_;  ///< waits for locks, by process
  std::unordered_map<ElementId, int64_t> slept_;
  std::unordered_map<ElementId, ThreadLife> lives_;
  std::unordered_map<ElementId, int64_t> wakes_;
  bool has_other_processes_ = false;
  const bool has_ranks_;
};

/// Sleeps at one place of the code, of all threads and processes of a program.
void AddFinding(const FindingInput& input, const FindingClass& kind, const std::vector<Sleeps>& sleeps,
                std::vector<Finding>& findings) {
  Finding finding{.kind = kind, .object = sleeps.front().object};
  finding.object_name = input.meta.NameOf(finding.object);
  std::vector<FindingThread> threads;
  int64_t times = 0;
  for (const Sleeps& one : sleeps) {
    AddTo(finding.lost_ns, one.ns);
    AddTo(times, one.times);
    threads.push_back(input.Thread(one.thread, one.ns));
  }
  if (!input.IsEnough(finding.lost_ns)) return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  finding.site = input.names.PlaceOf(sleeps.front().site);
  FindingInput::SetThreads(std::move(threads), finding);
  const bool is_sleep = kind == kPollingDelay;
  finding.advice = is_sleep ? kPollingAdvice : kTimeoutAdvice;
  finding.confidence = Confidence::kMedium;
  finding.figures["times"] = static_cast<double>(times);
  finding.evidence.push_back(fmt::format("{} {}, and hardly anything else ran meanwhile",
                                         is_sleep ? "it slept" : "the time limit ended the wait",
                                         TimesText(times, finding.lost_ns)));
  findings.push_back(std::move(finding));
}

}  // namespace

void FindPolling(const FindingInput& input, std::vector<Finding>& findings) {
  SamePlaces places(input.names);
  std::map<std::pair<bool, ElementId>, std::vector<Sleeps>> by_place;
  for (const Sleeps& sleeps : Sleepers(input).Find(input.Of<CallSums>()))
    by_place[{sleeps.kind == SyncKind::kSleep, places.Of(sleeps.site)}].push_back(sleeps);
  for (const auto& [place, sleeps] : by_place)
    AddFinding(input, place.first ? kPollingDelay : kTimeoutWait, sleeps, findings);
}

}  // namespace attune::analysis
