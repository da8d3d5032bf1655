/// Waiting for locks: lock-contention and lock-convoy (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/findings/busy_wait.h"
#include "analysis/findings/finding_input.h"
#include "analysis/findings/gain.h"
#include "analysis/findings/process_sums.h"
#include "analysis/waits/lock_cause.h"
#include "analysis/waits/object_group.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using wire::SyncKind;

// A convoy: nearly every release hands the lock over to a thread that waits, and handing over takes longer than what is
// done with the lock.
constexpr int64_t kConvoyThreads = 3;  ///< two threads that take turns are no queue
constexpr int64_t kConvoyWaits = 100;
constexpr double kConvoyContended = 0.9;
constexpr double kConvoyHeld = 0.5;  ///< at most, of the waiting
// Or fewer releases do, and holding explains next to nothing of the waiting.
constexpr double kPartlyContended = 0.3;
constexpr double kHardlyHeld = 0.2;
/// Less of the waiting than that is explained by holding: whoever has it for long may not have been sampled.
constexpr double kLeastExplained = 0.05;
constexpr double kMostlyRecorded = 0.9;
constexpr double kMostlyElsewhere = 0.5;  ///< part of the waiting for which another process holds it
// A thread that serves requests.
constexpr int64_t kFewestRequests = 4;
constexpr double kLeastWorking = 0.02;  ///< part of its life in which it does something else than wait

constexpr std::string_view kContentionAdvice =
    "Do less while the lock is held there, give parts of the data locks of their own, or keep results for each thread "
    "and join them at the end.";
constexpr std::string_view kReadersAdvice =
    "Readers do not wait for each other: do less while it is held for writing there, or write more rarely.";
constexpr std::string_view kConvoyAdvice =
    "Each hand-over costs more than what is done with the lock: take it once for many pieces of work, keep results for "
    "each thread, or use atomic operations in its place.";

constexpr std::string_view kUnknownHolderAdvice =
    "Find out who has it so long: another process that shares it, or a place that has it rarely and for long (run it "
    "with --level blame, or trace)";

/// Over all calls of the locks.
struct Shape {
  double hold_ns = 0;  ///< sum over all acquisitions, estimated; 0: not known
  double mean_hold_ns = 0;
  double contended = 0;
  int64_t most_threads = 0;  ///< that waited for the same lock
  double held = 1;  ///< part of the waiting that is explained if all others wait whenever a thread has the lock
};

/// The threads that waited for it.
int64_t Waiters(const ObjectSums& lock) {
  const auto threads = lock.ByThread();
  return std::count_if(threads.begin(), threads.end(), [](const auto& each) { return each.second.wait_ns > 0; });
}

Shape ShapeOf(const FindingInput& input, const ObjectGroup& group) {
  const SyncCounts& total = group.sums.total;
  Shape shape{.contended = std::min(1.0, PartOf(total.waits, total.calls))};
  double explained_ns = 0;
  for (const model::ElementId id : group.objects) {
    const ObjectSums& lock = input.waits.sums.objects.at(id);
    const int64_t waiters = Waiters(lock);
    shape.most_threads = std::max(shape.most_threads, waiters);
    const double hold_ns = lock.EstimatedHoldNs();
    shape.hold_ns += hold_ns;
    explained_ns += hold_ns * static_cast<double>(std::max<int64_t>(1, waiters - 1));
  }
  shape.mean_hold_ns = shape.hold_ns / static_cast<double>(std::max<int64_t>(1, total.count));
  if (shape.hold_ns > 0 && total.wait_ns > 0)
    shape.held = std::min(1.0, explained_ns / static_cast<double>(total.wait_ns));
  return shape;
}

bool IsConvoy(const ObjectGroup& group, const Shape& shape) {
  const SyncCounts& total = group.sums.total;
  const bool is_handed_over = (shape.contended >= kConvoyContended && shape.held <= kConvoyHeld) ||
                              (shape.contended >= kPartlyContended && shape.held <= kHardlyHeld);
  return total.holds > 0 && shape.most_threads >= kConvoyThreads && total.waits >= kConvoyWaits && is_handed_over;
}

/// Without a hold time, the place that acquires it most often is all that can be named.
model::ElementId BusiestSite(const ObjectSums& lock) {
  model::ElementId site = 0;
  int64_t most = -1;
  for (const auto& [place, threads] : lock.places) {
    int64_t count = 0;
    if (place.second == SyncKind::kWake) continue;
    for (const auto& [thread, counts] : threads) AddTo(count, counts.count);
    if (count <= most) continue;
    most = count;
    site = place.first;
  }
  return site;
}

std::string Percent(double share) { return fmt::format("{:.0f} %", share * 100); }
std::string Duration(double ns) { return FormatDuration(static_cast<int64_t>(std::clamp(ns, 0.0, 9e18))); }

void SetHolders(const FindingInput& input, const ObjectGroup& group, Finding& finding) {
  std::map<model::ElementId, int64_t> by_thread;
  for (const model::ElementId lock : group.objects) {
    const auto blames = input.waits.blames.find(lock);
    if (blames == input.waits.blames.end()) continue;
    for (const Blame& blame : blames->second) AddTo(by_thread[blame.thread], blame.wait_ns);
  }
  for (const auto& [thread, caused_ns] : by_thread) finding.caused_by.push_back(input.Thread(thread, caused_ns));
  std::stable_sort(finding.caused_by.begin(), finding.caused_by.end(),
                   [](const auto& a, const auto& b) { return a.lost_ns > b.lost_ns; });
  if (finding.caused_by.size() > Finding::kMaxThreads) finding.caused_by.resize(Finding::kMaxThreads);
}

/// Call sites that held the locks, with the wait time each caused; same places are merged (SamePlaces).
struct Causes {
  std::vector<LockCause> list;  ///< most caused first
  bool is_recorded = false;     ///< for the locks with most of the waiting, else estimated
};

Causes CausesOf(const FindingInput& input, const ObjectGroup& group, SamePlaces& places) {
  std::map<ObjectSums::Place, LockCause> by_place;
  int64_t recorded_ns = 0;
  for (const model::ElementId id : group.objects) {
    const ObjectSums& lock = input.waits.sums.objects.at(id);
    const auto blames = input.waits.blames.find(id);
    const bool is_recorded = blames != input.waits.blames.end();
    if (is_recorded) AddTo(recorded_ns, lock.total.wait_ns);
    for (const LockCause& cause : is_recorded ? LockCauses(lock, blames->second) : EstimateLockCauses(lock)) {
      const model::ElementId site = places.Of(cause.site);
      LockCause& known = by_place[{site, is_recorded ? SyncKind::kNone : cause.kind}];
      known.site = site;
      known.kind = cause.kind;
      known.caused_ns += cause.caused_ns;
      known.hold_ns += cause.hold_ns;
      AddTo(known.count, cause.count);
      AddTo(known.holds, cause.holds);
    }
  }
  Causes causes{.is_recorded = PartOf(recorded_ns, group.sums.total.wait_ns) >= kMostlyRecorded};
  for (const auto& [place, cause] : by_place) causes.list.push_back(cause);
  std::stable_sort(causes.list.begin(), causes.list.end(),
                   [](const auto& a, const auto& b) { return a.caused_ns > b.caused_ns; });
  return causes;
}

/// Whoever held it, where that was recorded; else as sampled hold times say.
void SetCause(const FindingInput& input, const ObjectGroup& group, const Shape& shape, SamePlaces& places,
              Finding& finding) {
  const auto [causes, is_recorded] = CausesOf(input, group, places);
  if (causes.empty()) {
    finding.site = input.names.PlaceOf(BusiestSite(group.sums));
    finding.confidence = Confidence::kLow;
    finding.evidence.emplace_back("no hold time is known: named is the place that acquires it most often");
    return;
  }
  const LockCause& first = causes.front();
  // While the program runs, single waits are known before the sums, which are read once a second.
  double whole_ns = 0;
  for (const LockCause& cause : causes) whole_ns += cause.caused_ns;
  whole_ns = std::max({1.0, whole_ns, static_cast<double>(finding.lost_ns)});
  const auto part_of = [whole_ns](const LockCause& cause) { return cause.caused_ns / whole_ns; };
  finding.site = input.names.PlaceOf(first.site);
  const bool is_alone = causes.size() == 1 || (part_of(first) >= 0.6 && first.holds >= 2);
  const bool is_sure = is_recorded || (is_alone && shape.held >= kLeastExplained);
  finding.confidence = is_sure ? Confidence::kHigh : Confidence::kMedium;
  finding.figures["caused_there"] = part_of(first);
  for (size_t i = 0; i < std::min<size_t>(causes.size(), 3); ++i) {
    const LockCause& cause = causes[i];
    std::string text = fmt::format("{} of the waiting is for who had it from {}", Percent(part_of(cause)),
                                   PlaceText(input.names.PlaceOf(cause.site)));
    if (cause.holds > 0)
      text += fmt::format(", {}, about {} each", TimesText(cause.count),
                          Duration(cause.hold_ns / std::max(1.0, static_cast<double>(cause.count))));
    finding.evidence.push_back(text + (is_recorded ? "" : " (estimated)"));
  }
  SetHolders(input, group, finding);
}

void AddShape(const ObjectGroup& group, const Shape& shape, Finding& finding) {
  const SyncCounts& total = group.sums.total;
  std::string locks = group.objects.size() == 1 ? "" : fmt::format(" for {} locks", group.objects.size());
  if (finding.figures.at("processes") > 1) locks += fmt::format(" of {} processes", finding.figures.at("processes"));
  finding.figures["waits"] = static_cast<double>(total.waits);
  finding.figures["acquisitions"] = static_cast<double>(total.count);
  finding.figures["contended"] = shape.contended;
  finding.evidence.push_back(
      fmt::format("{} thread{} waited {}{}, {} on average: {} of the calls", finding.thread_count,
                  finding.thread_count == 1 ? "" : "s", TimesText(total.waits), locks,
                  Duration(static_cast<double>(total.wait_ns) / std::max(1.0, static_cast<double>(total.waits))),
                  Percent(shape.contended)));
  if (shape.hold_ns <= 0) return;
  finding.figures["hold_seconds"] = shape.hold_ns * 1e-9;
  finding.figures["mean_hold_seconds"] = shape.mean_hold_ns * 1e-9;
  finding.figures["explained_by_holding"] = shape.held;
}

/// Part of a thread's life in which it did not wait, nor for a CPU. While the program runs, its waits are known up to
/// when they were read, and it may have been in one then. @param counts of its waits for a lock
double WorkingPart(const FindingInput& input, const ThreadLife& life, const SyncCounts& counts) {
  const SyncSums& sums = input.waits.sums;
  const auto waited = sums.waited_by_thread.find(life.thread);
  const int64_t end_ns = input.is_over ? life.end_ns : std::min(life.end_ns, sums.read_ns);
  if (end_ns <= life.start_ns || waited == sums.waited_by_thread.end()) return 0;
  const auto known_ns = static_cast<double>(end_ns - life.start_ns);
  double working_ns = known_ns - static_cast<double>(SaneTime(waited->second));
  if (!input.is_over) working_ns -= PartOf(counts.wait_ns, counts.waits);
  const auto account = std::ranges::find(input.account.threads, life.thread, &ThreadAccount::thread);
  if (account != input.account.threads.end()) working_ns -= account->queued_ns;
  return working_ns / known_ns;
}

/// A thread that works between its waits, as one that serves requests, is done so much earlier, whether the run ends
/// with it or not: the most that one of them waited. A thread that is parked at a lock has nothing to do meanwhile.
int64_t RequestsGainNs(const FindingInput& input, const ObjectGroup& group, const Finding& finding) {
  std::unordered_map<model::ElementId, const ThreadLife*> lives;
  for (const ThreadLife& life : input.waits.lives) lives[life.thread] = &life;
  int64_t most_ns = 0;
  for (const auto& [thread, counts] : group.sums.ByThread()) {
    const auto life = lives.find(thread);
    if (counts.waits < kFewestRequests || life == lives.end()) continue;
    if (WorkingPart(input, *life->second, counts) >= kLeastWorking) most_ns = std::max(most_ns, counts.wait_ns);
  }
  return std::min(most_ns, BoundGain(input, finding));
}

/// Adds the gain at best without waiting for the locks. For one lock it is the what-if of the critical path where there
/// is one, so that both say the same; else a bound. Among several processes, the one that gains most counts.
void AddRelief(const FindingInput& input, const ObjectGroup& group, Finding& finding) {
  const auto processes = input.ByProcess(group);
  Relief relief;
  for (const auto& [process, locks] : processes) {
    const Relief own = RelieveOf(input.Of<LockWaits>(), input.waits, input.meta, locks, input.Cpus());
    if (own.life_ns > 0 && (relief.life_ns == 0 || own.shorter_ns > relief.shorter_ns)) relief = own;
  }
  if (relief.life_ns <= 0) return;
  const auto& what_ifs = input.critical_path.what_ifs;
  const auto what_if = std::ranges::find(what_ifs, finding.object, &WhatIf::object);
  const bool is_alone = group.objects.size() == 1;
  const bool is_replayed = is_alone && what_if != what_ifs.end();
  if (is_replayed) relief.shorter_ns = what_if->saved_ns;
  finding.gain_ns = std::max(relief.shorter_ns, RequestsGainNs(input, group, finding));
  const double share = PartOf(relief.shorter_ns, relief.life_ns);
  finding.figures["shorter_at_most_seconds"] = static_cast<double>(relief.shorter_ns) * 1e-9;
  finding.figures["shorter_at_most"] = share;
  finding.figures["shorter_is_replayed"] = is_replayed ? 1 : 0;
  finding.evidence.push_back(fmt::format("if nobody had to wait for {}, {} would be at most {} ({}) shorter",
                                         is_alone ? "it" : "them",
                                         processes.size() == 1 ? "the program" : "the process that gains most",
                                         FormatDuration(relief.shorter_ns), Percent(share)));
  if (finding.gain_ns > relief.shorter_ns)
    finding.evidence.back() +=
        fmt::format(", and the thread that waits longest would be done {} earlier", FormatDuration(finding.gain_ns));
}

/// Call site at which another process has the lock for most of the waiting, and hardly ever waits itself. A lock in
/// memory that processes share has the same address in those that were forked; a lock with a name lies in a variable,
/// which each process has for itself. 0: there is none
model::ElementId HeldElsewhere(const FindingInput& input, const ObjectGroup& group) {
  const model::Element* lock = input.meta.FindElement(group.objects.front());
  if (lock == nullptr || lock->name.find(" 0x") == std::string::npos) return 0;
  LockCause longest;
  for (const auto& [id, sums] : input.waits.sums.objects) {
    const model::Element* other = input.meta.FindElement(id);
    if (other == nullptr || other->name != lock->name || other->parent == lock->parent) continue;
    for (const LockCause& cause : EstimateLockCauses(sums)) {
      if (cause.hold_ns > longest.hold_ns) longest = cause;
    }
  }
  return longest.hold_ns >= kMostlyElsewhere * static_cast<double>(group.sums.total.wait_ns) ? longest.site : 0;
}

/// Whether threads try a mutex again and again: the probe records that as waits for a spin lock at its address.
bool IsTried(const FindingInput& input, const ObjectGroup& group) {
  const model::Element* lock = input.meta.FindElement(group.objects.front());
  if (group.sums.kind != SyncKind::kSpinLock || lock == nullptr) return false;
  const std::string_view spin_lock = model::ToString(SyncKind::kSpinLock);
  if (!lock->name.starts_with(spin_lock)) return false;
  const std::string mutex = "mutex" + lock->name.substr(spin_lock.size());
  return std::ranges::any_of(input.meta.elements, [&](const model::Element& element) {
    return element.parent == lock->parent && element.name == mutex;
  });
}

Finding OfGroup(const FindingInput& input, const ObjectGroup& group, SamePlaces& places) {
  Finding finding = input.About(FindingClass::kLockContention, group);
  const Shape shape = ShapeOf(input, group);
  AddShape(group, shape, finding);
  AddRelief(input, group, finding);
  const size_t lines_before = finding.evidence.size();
  SetCause(input, group, shape, places, finding);
  const bool is_rwlock = group.sums.kind == SyncKind::kReadLock || group.sums.kind == SyncKind::kWriteLock;
  finding.advice = is_rwlock ? kReadersAdvice : kContentionAdvice;
  if (IsTried(input, group)) {
    finding.kind = kBusyWait;
    finding.advice = kBusyWaitAdvice;
    finding.evidence.emplace_back("it is tried again and again (trylock), which takes a CPU meanwhile");
  } else if (IsConvoy(group, shape)) {
    finding.kind = FindingClass::kLockConvoy;
    finding.advice = kConvoyAdvice;
    finding.evidence.push_back(
        fmt::format("it is held for {} at a time: that explains at most {} of the waiting, the rest is handing it over",
                    Duration(shape.mean_hold_ns), Percent(shape.held)));
  } else if (const auto caused = finding.figures.find("caused_there");
             caused != finding.figures.end() && caused->second < kLeastExplained) {
    finding.evidence.resize(lines_before);
    if (const model::ElementId elsewhere = HeldElsewhere(input, group); elsewhere != 0) {
      finding.confidence = Confidence::kMedium;
      finding.site = input.names.PlaceOf(elsewhere);
      finding.evidence.emplace_back("another process that shares it has it meanwhile: named is where it acquires it");
    } else {
      finding.confidence = Confidence::kLow;
      finding.advice = kUnknownHolderAdvice;
      finding.evidence.push_back(
          fmt::format("for {} of the waiting it is not known who had it: named is a place that acquires it",
                      Percent(1 - caused->second)));
    }
  }
  return finding;
}

}  // namespace

void FindLocks(const FindingInput& input, std::vector<Finding>& findings) {
  SamePlaces places(input.names);
  const auto is_enough = [&input](int64_t ns) { return input.IsEnough(ns); };
  for (const ObjectGroup& group : GroupObjects(input.waits.sums, input.meta, IsLock, is_enough, places))
    findings.push_back(OfGroup(input, group, places));
}

}  // namespace attune::analysis
