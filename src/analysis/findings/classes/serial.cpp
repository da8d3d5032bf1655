/// One thread at a time, and threads that are not given enough to do: serialisation and condition-wait
/// (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/finding_input.h"
#include "analysis/findings/interpreter_lock.h"
#include "analysis/findings/process_sums.h"
#include "analysis/waits/meeting.h"
#include "analysis/waits/own_lock.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

// Serialisation.
constexpr double kMostlySerial = 0.8;    ///< part of the time in which there are several threads
constexpr double kNothingShared = 0.95;  ///< part of that time: one task after the other, not one that is longer
constexpr double kOthersWait = 0.8;      ///< part of the time of all members but one
constexpr double kRounding = 1e-3;       ///< error of averages over parts of time
constexpr double kMutual = 0.5;          ///< part of the waits ended by a wake-up: those of threads that wake others
constexpr double kOneCpu = 1.25;         ///< CPUs in use: hardly more than one thread runs
constexpr double kOneObject = 0.5;       ///< part of the waiting: then it is that lock's or barrier's own finding
/// Part of the waiting. Half of it is for the lock where two threads compute and the main thread waits for both.
constexpr double kForInterpreter = 0.25;
constexpr double kMostlyWoken = 0.5;   ///< part of the waiting that is for a wake-up, rather than for locks
constexpr double kSomebodyRuns = 0.5;  ///< part of the serial time in which a CPU is used
constexpr double kRotates = 0.75;      ///< at most so much of the work is one thread's
// Condition-wait.
constexpr double kMostlyWaiting = 0.5;  ///< part of the waiters' lives
constexpr double kWokenUp = 0.5;        ///< part of the waits: they did not just run out
constexpr double kMainWaker = 0.5;      ///< part of the wake-ups that are one thread's
constexpr double kBusyWaker = 0.8;      ///< part of the time with several threads in which it runs, or waits for a CPU
constexpr double kCpusInUse = 0.75;     ///< at most: there is one for another thread that does what it does

constexpr std::string_view kSerialAdvice =
    "The threads take turns, so that several are no faster than one: let them work on pieces that do not wait for each "
    "other, or hand over larger pieces.";
constexpr std::string_view kConditionAdvice =
    "What wakes them does not keep up: divide its work among more threads, or hand on work earlier and in larger "
    "pieces.";

/// All objects of a process together that pass a filter.
template <class Wanted>
ObjectSums Merge(const FindingInput& input, ElementId process, const Wanted& wanted) {
  ObjectSums merged;
  for (const auto& [id, sums_of] : input.ObjectsOf(process)) {
    const ObjectSums& object = *sums_of;
    if (!wanted(object)) continue;
    merged.total.Add(object.total);
    for (const auto& [place, threads] : object.places) {
      for (const auto& [thread, counts] : threads) merged.places[place][thread].Add(counts);
    }
  }
  return merged;
}

/// Also what was only ever signalled, and nobody waited for.
bool IsSignalled(SyncKind kind) {
  return kind == SyncKind::kCondition || kind == SyncKind::kSemaphore || kind == SyncKind::kNone;
}
bool IsWoken(SyncKind kind) { return IsSignalled(kind) || kind == SyncKind::kFutex; }
bool IsWokenObject(const ObjectSums& object) { return IsWoken(object.kind); }

/// The lock or barrier of a process at which there is most waiting, or the wait for tasks, where these shared some
/// time.
int64_t MostAtOne(const FindingInput& input, ElementId process, const Concurrency& concurrency) {
  const bool tasks_share = concurrency.serial_ns < kNothingShared * concurrency.several_ns;
  int64_t most = 0;
  for (const auto& [id, sums_of] : input.ObjectsOf(process)) {
    const ObjectSums& object = *sums_of;
    const bool is_own =
        IsLock(object.kind) || IsBarrier(object.kind) || IsOwnLock(object) || (IsTaskWait(object.kind) && tasks_share);
    if (is_own) most = std::max(most, object.total.wait_ns);
  }
  return most;
}

/// The place that ends most of the waiting: that at each object is shared out over the places that wake there, by how
/// often they do. Where nothing is woken, the one that is waited at longest.
ElementId WakingSite(const FindingInput& input, ElementId process, const ObjectSums& sums) {
  std::map<ElementId, double> ended_ns;
  for (const auto& [id, sums_of] : input.ObjectsOf(process)) {
    const ObjectSums& object = *sums_of;
    if (!IsWoken(object.kind)) continue;
    std::map<ElementId, int64_t> wakes;
    int64_t all = 0;
    for (const auto& [place, threads] : object.places) {
      if (place.second != SyncKind::kWake) continue;
      for (const auto& [thread, counts] : threads) {
        AddTo(wakes[place.first], std::max<int64_t>(0, counts.count));
        AddTo(all, std::max<int64_t>(0, counts.count));
      }
    }
    for (const auto& [site, count] : wakes)
      ended_ns[site] += PartOf(count, all) * static_cast<double>(object.total.wait_ns);
  }
  if (ended_ns.empty()) {
    for (const auto& [place, threads] : sums.places) {
      for (const auto& [thread, counts] : threads) ended_ns[place.first] += static_cast<double>(counts.wait_ns);
    }
  }
  const auto most = std::max_element(ended_ns.begin(), ended_ns.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == ended_ns.end() ? 0 : most->first;
}

double CpuNs(const FindingInput& input, ElementId id) {
  for (const model::Process& process : input.meta.processes) {
    if (process.id != id || process.user_ns == model::kAbsent || process.system_ns == model::kAbsent) continue;
    return static_cast<double>(process.user_ns) + static_cast<double>(process.system_ns);
  }
  return 0;
}

/// Whether no thread does nearly all of the work.
bool Rotates(const Concurrency& concurrency) {
  int64_t most = 0;
  int64_t all = 0;
  for (const Member& member : concurrency.members) {
    most = std::max(most, member.active_ns);
    AddTo(all, member.active_ns);
  }
  return PartOf(most, all) <= kRotates;
}

/// How often a thread was woken up, and woke others.
struct WakeUps {
  int64_t woken = 0;
  int64_t wakes = 0;  ///< at each object at most as many as there were waits: most signals may find nobody waiting
};

std::map<ElementId, WakeUps> CountWakeUps(const FindingInput& input, ElementId process) {
  std::map<ElementId, WakeUps> by_thread;
  for (const auto& [id, sums_of] : input.ObjectsOf(process)) {
    const ObjectSums& object = *sums_of;
    if (!IsWoken(object.kind)) continue;
    std::map<ElementId, int64_t> wakes;
    int64_t all_woken = 0;
    for (const auto& [place, threads] : object.places) {
      for (const auto& [thread, counts] : threads) {
        if (place.second == SyncKind::kWake) {
          AddTo(wakes[thread], std::max<int64_t>(0, counts.count));
        } else {
          const int64_t woken = std::max<int64_t>(0, std::min(counts.count, counts.waits));
          AddTo(by_thread[thread].woken, woken);
          AddTo(all_woken, woken);
        }
      }
    }
    for (const auto& [thread, count] : wakes) AddTo(by_thread[thread].wakes, std::min(count, all_woken));
  }
  return by_thread;
}

/// How far those who wait are those who wake the others, 0 to 1: threads that take turns do both, of a producer and its
/// consumers each does one of the two. One call may wake up all the others. 1 where nobody was seen to wake anybody.
double Mutual(const std::map<ElementId, WakeUps>& by_thread) {
  double waiters = 0;
  double woken = 0;
  double wakes = 0;
  for (const auto& [thread, counts] : by_thread) {
    if (counts.woken > 0) ++waiters;
    woken += static_cast<double>(counts.woken);
    wakes += static_cast<double>(counts.wakes);
  }
  if (wakes <= 0 || woken <= 0) return 1;
  double both = 0;
  for (const auto& [thread, counts] : by_thread)
    both += std::min(static_cast<double>(counts.woken), static_cast<double>(counts.wakes) * waiters);
  return both / woken;
}

/// A computing thread that wakes the next one may lose its CPU to that one before it waits itself. Then two
/// could go on, and yet one does. Mutual waiting on a single CPU shows turns as well.
bool TakeTurns(const FindingInput& input, ElementId process, const Concurrency& concurrency, const ObjectSums& all) {
  const bool is_mutual = Mutual(CountWakeUps(input, process)) >= kMutual;
  const int64_t until_woken_ns = Merge(input, process, IsWokenObject).total.wait_ns;
  if (!is_mutual && PartOf(until_woken_ns, all.total.wait_ns) >= kMostlyWoken) return false;
  if (concurrency.serial_ns >= kMostlySerial * concurrency.several_ns) return true;
  return is_mutual && concurrency.waiting_ns >= (kOthersWait - kRounding) * concurrency.others_ns &&
         CpuNs(input, process) <= kOneCpu * concurrency.several_ns;
}

/// The thread that most wake-ups come from; 0: no thread has more than half of them.
ElementId MainWaker(const std::map<ElementId, WakeUps>& by_thread) {
  int64_t all = 0;
  for (const auto& [thread, counts] : by_thread) AddTo(all, counts.wakes);
  for (const auto& [thread, counts] : by_thread) {
    if (PartOf(counts.wakes, all) > kMainWaker) return thread;
  }
  return 0;
}

/// Whether the lock of Python's interpreter is what is waited for, which is a class of its own.
bool IsForInterpreter(const FindingInput& input, ElementId process) {
  const auto is_wait = [](const ObjectSums& object) { return !IsIdling(object.kind); };
  const int64_t all_ns = Merge(input, process, is_wait).total.wait_ns;
  return PartOf(WaitsForInterpreter(input, process).total.wait_ns, all_ns) >= kForInterpreter;
}

/// A finding about the wait time of a process's members, all together.
Finding OfProcess(const FindingInput& input, FindingClass kind, ElementId process, const Concurrency& concurrency,
                  const ObjectSums& sums) {
  Finding finding{.kind = kind};
  const auto by_thread = sums.ByThread();
  std::vector<FindingThread> threads;
  for (const Member& member : concurrency.members) {
    const auto counts = by_thread.find(member.life.thread);
    if (counts == by_thread.end()) continue;
    threads.push_back(input.Thread(member.life.thread, counts->second.wait_ns));
    AddTo(finding.lost_ns, counts->second.wait_ns);
  }
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  FindingInput::SetThreads(std::move(threads), finding);
  finding.waiters = WaitingSites(sums, input.names);
  finding.site = input.names.PlaceOf(WakingSite(input, process, sums));
  return finding;
}

/// @return whether threads take turns, be it worth a finding or not
bool FindTurns(const FindingInput& input, ElementId process, const Concurrency& concurrency,
               std::vector<Finding>& findings) {
  const double cpu_ns = CpuNs(input, process);
  const ObjectSums sums = Merge(input, process, [](const ObjectSums& object) { return !IsIdling(object.kind); });
  if (!TakeTurns(input, process, concurrency, sums)) return false;
  const bool somebody_runs = cpu_ns >= kSomebodyRuns * concurrency.serial_ns;
  if (!somebody_runs && !Rotates(concurrency)) return true;
  Finding finding = OfProcess(input, FindingClass::kSerialisation, process, concurrency, sums);
  if (!input.IsEnough(finding.lost_ns) || PartOf(MostAtOne(input, process, concurrency), finding.lost_ns) >= kOneObject)
    return true;
  // Turns among these threads say nothing about losses at other times, with other processes.
  if (static_cast<double>(finding.lost_ns) > concurrency.several_ns * static_cast<double>(concurrency.members.size()))
    return true;
  finding.advice = kSerialAdvice;
  finding.confidence = somebody_runs && Rotates(concurrency) ? Confidence::kHigh : Confidence::kMedium;
  finding.figures["serial_seconds"] = concurrency.serial_ns * 1e-9;
  finding.figures["several_threads_seconds"] = concurrency.several_ns * 1e-9;
  finding.figures["cpu_seconds"] = cpu_ns * 1e-9;
  finding.figures["others_wait"] = concurrency.waiting_ns / std::max(1.0, concurrency.others_ns);
  finding.evidence.push_back(fmt::format(
      "at most one of {} threads went on at a time for {} of {}, and the others waited for {:.0f} % of their time",
      concurrency.members.size(), FormatDuration(static_cast<int64_t>(concurrency.serial_ns)),
      FormatDuration(static_cast<int64_t>(concurrency.several_ns)), 100 * finding.figures["others_wait"]));
  finding.evidence.emplace_back("the place named is where most of them are woken from");
  findings.push_back(std::move(finding));
  return true;
}

void FindStarved(const FindingInput& input, ElementId process, const Concurrency& concurrency,
                 std::vector<Finding>& findings) {
  const double cpus_used = CpuNs(input, process) / std::max(1.0, concurrency.several_ns);
  if (cpus_used > kCpusInUse * static_cast<double>(input.Cpus())) return;
  const ObjectSums sums = Merge(input, process, [&](const ObjectSums& object) {
    return IsWoken(object.kind) && !IsMeeting(object, input.names);
  });
  const ElementId waker = MainWaker(CountWakeUps(input, process));
  const auto times = input.times.by_thread.find(waker);
  if (times == input.times.by_thread.end()) return;
  const double busy_ns = times->second.run_ns + times->second.queue_ns;
  if (busy_ns < kBusyWaker * concurrency.several_ns) return;
  const auto by_thread = sums.ByThread();
  int64_t lives_ns = 0;
  SyncCounts waits;
  for (const Member& member : concurrency.members) {
    const auto counts = by_thread.find(member.life.thread);
    if (counts == by_thread.end() || counts->second.waits <= 0) continue;
    AddTo(lives_ns, member.life.LengthNs());
    waits.Add(counts->second);
  }
  if (PartOf(waits.wait_ns, lives_ns) < kMostlyWaiting || PartOf(waits.count, waits.calls) < kWokenUp) return;
  Finding finding = OfProcess(input, FindingClass::kConditionWait, process, concurrency, sums);
  if (!input.IsEnough(finding.lost_ns)) return;
  finding.advice = kConditionAdvice;
  finding.confidence = Confidence::kMedium;
  finding.caused_by.push_back(input.Thread(waker, finding.lost_ns));
  finding.figures["cpus_used"] = cpus_used;
  finding.figures["waker_busy"] = std::min(1.0, busy_ns / std::max(1.0, concurrency.several_ns));
  finding.evidence.push_back(
      fmt::format("{} thread{} waited to be woken {}, {:.0f} % of the time, while {:.1f} of {} "
                  "CPUs were used",
                  finding.thread_count, finding.thread_count == 1 ? "" : "s", TimesText(waits.waits),
                  100 * PartOf(waits.wait_ns, lives_ns), cpus_used, input.Cpus()));
  finding.evidence.push_back(fmt::format("most wake-ups come from thread {}, which is busy {:.0f} % of the time",
                                         ThreadText(finding.caused_by.front()), 100 * finding.figures["waker_busy"]));
  findings.push_back(std::move(finding));
}

}  // namespace

void FindSerial(const FindingInput& input, std::vector<Finding>& findings) {
  for (const auto& [process, concurrency] : input.concurrency) {
    if (concurrency.several_ns <= 0 || IsForInterpreter(input, process)) continue;
    if (!FindTurns(input, process, concurrency, findings)) FindStarved(input, process, concurrency, findings);
  }
}

}  // namespace attune::analysis
