/// Waiting at barriers: load-imbalance and wait-at-barrier (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analysis/findings/finding_input.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

/// Even a balanced program waits a little at a barrier.
constexpr double kLeastBarrierShare = 0.05;
// The same threads are late time after time.
constexpr int64_t kFewestRounds = 4;
constexpr double kLateCause = 0.8;  ///< part of the waiting that is for them
/// To start a team and to wait for its end takes microseconds of each thread, and some ten where they sleep meanwhile.
/// The work between two meetings has to be worth that.
constexpr int64_t kShortRoundNs = 500'000;
constexpr double kMuchWaiting = 0.25;  ///< part of the time of the threads that meet
/// A thread that sleeps until its team is started comes so much later than the one that starts it, whatever they do.
constexpr int64_t kTeamStartNs = 50'000;
/// Part of the waiting that is for threads without a CPU, where more threads than CPUs take turns on these.
constexpr double kMostlyQueued = 0.5;

constexpr std::string_view kImbalanceAdvice =
    "Give the late threads less to do, or hand the work out in smaller pieces to whoever is free.";
constexpr std::string_view kLoopAdvice =
    "Give the late threads less to do: of a loop by schedule(dynamic) or schedule(guided), of tasks by more and "
    "smaller "
    "ones.";
constexpr std::string_view kShortLoopAdvice =
    "In loops that short the threads wait for much of the time: try fewer of them, down to one, by OMP_NUM_THREADS=1, "
    "or "
    "OMP_THREAD_LIMIT=1 where the program sets the number itself. In the code: share out a loop further out.";
constexpr std::string_view kBarrierAdvice =
    "No thread is late more than the others: meet less often, do more between two barriers, or let threads go on to "
    "what does not depend on the others.";

/// The fewest threads that most of the waiting is for.
struct Late {
  size_t threads = 0;
  int64_t rounds = 0;  ///< in which one of them was the last
  double part = 0;     ///< part of the waiting in all rounds
};

Late FindLate(const BarrierRounds& rounds) {
  Late late;
  for (const LateThread& thread : rounds.late) {
    if (late.part >= kLateCause) break;
    ++late.threads;
    late.rounds += thread.rounds;
    late.part += PartOf(thread.caused_ns, rounds.wait_ns);
  }
  return late;
}

/// Whether that is no chance: at most half of the threads, each several times, and last more often than by two standard
/// deviations of what any threads would be.
bool IsConsistent(const BarrierRounds& rounds, const Late& late) {
  if (rounds.rounds < kFewestRounds || late.part < kLateCause || late.threads * 2 > static_cast<size_t>(rounds.threads))
    return false;
  if (late.rounds < kFewestRounds * static_cast<int64_t>(late.threads)) return false;
  const double count = static_cast<double>(rounds.rounds);
  const double chance = static_cast<double>(late.threads) / static_cast<double>(rounds.threads);
  return static_cast<double>(late.rounds) >= count * chance + 2 * std::sqrt(count * chance * (1 - chance));
}

/// Waiting for threads that were late because they found no CPU: that is no fault of what they do.
int64_t ExplainedByQueues(const FindingInput& input, const BarrierRounds& rounds) {
  double explained = 0;
  for (const LateThread& late : rounds.late) {
    const auto times = input.times.by_thread.find(late.thread);
    if (times == input.times.by_thread.end()) continue;
    const double part = static_cast<double>(late.rounds) / static_cast<double>(rounds.rounds);
    explained += times->second.queue_ns * part * (rounds.participants - 1);
  }
  return static_cast<int64_t>(std::clamp(explained, 0.0, 9e18));
}

int64_t PeriodNs(const BarrierRounds& rounds) { return rounds.span_ns / std::max<int64_t>(1, rounds.rounds); }

/// Whether meeting costs the threads much of what they gain by being several.
bool MeetTooOften(const BarrierRounds& rounds) {
  const double time_ns = rounds.participants * static_cast<double>(rounds.span_ns);
  return PeriodNs(rounds) < kShortRoundNs && static_cast<double>(rounds.wait_ns) >= kMuchWaiting * time_ns;
}

/// Whether who is late says nothing of what it had to do: it was started last.
bool IsLateByStart(const ObjectGroup& group, const BarrierRounds& rounds) {
  const auto waits = std::max<int64_t>(1, group.sums.total.waits);
  return group.sums.kind == wire::SyncKind::kTeamBarrier && MeetTooOften(rounds) &&
         group.sums.total.wait_ns / waits < kTeamStartNs;
}

std::string_view Advice(const BarrierRounds& rounds, bool is_team, bool is_imbalance) {
  if (is_team && MeetTooOften(rounds)) return kShortLoopAdvice;
  if (!is_imbalance) return kBarrierAdvice;
  return is_team ? kLoopAdvice : kImbalanceAdvice;
}

std::string Meetings(const FindingInput& input, const BarrierRounds& rounds, const SyncCounts& total,
                     double processes) {
  std::string who = fmt::format("{} threads", rounds.threads);
  if (processes > 1) who += fmt::format(" of {} processes", processes);
  if (input.Cpus() > 0 && rounds.threads > static_cast<int64_t>(input.Cpus()))
    who += fmt::format(" on {} CPU{}", input.Cpus(), input.Cpus() == 1 ? "" : "s");
  return fmt::format("{} met {} times, every {}, and waited {} on average, all together {} a time", who, rounds.rounds,
                     FormatDuration(PeriodNs(rounds)),
                     FormatDuration(total.waits > 0 ? total.wait_ns / total.waits : 0),
                     FormatDuration(rounds.wait_ns / rounds.rounds));
}

/// Call site of the late arrivals that cause most waiting; 0: there is none.
model::ElementId LateSite(const BarrierRounds& rounds, SamePlaces& places) {
  std::map<model::ElementId, int64_t> by_site;
  for (const LateThread& late : rounds.late) {
    for (const auto& [site, caused_ns] : late.by_site_ns) AddTo(by_site[places.Of(site)], caused_ns);
  }
  const auto most = std::max_element(by_site.begin(), by_site.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == by_site.end() ? 0 : most->first;
}

/// @param late those who are  @param rounds of all
void SayWhoIsLate(const FindingInput& input, const BarrierRounds& late, int64_t rounds, SamePlaces& places,
                  Finding& finding) {
  finding.site = input.names.PlaceOf(LateSite(late, places));
  for (size_t i = 0; i < std::min(late.late.size(), Finding::kMaxThreads); ++i) {
    const LateThread& thread = late.late[i];
    finding.caused_by.push_back(input.Thread(thread.thread, thread.caused_ns));
    if (i < 3)
      finding.evidence.push_back(fmt::format("thread {} was last in {} of {} rounds", ThreadText(finding.caused_by[i]),
                                             thread.rounds, rounds));
  }
}

/// Waits at the barriers of a group.
struct Waits {
  BarrierRounds rounds;       ///< rounds of all processes
  int64_t explained_ns = 0;   ///< at most so much of the waiting was for threads that found no CPU
  BarrierRounds late;         ///< processes in which the same threads are late: these threads alone
  bool is_imbalance = false;  ///< that is where most was waited
};

/// Adds the rounds of another process; no thread is in both.
void AddRounds(BarrierRounds& sum, const BarrierRounds& other) {
  const auto rounds = static_cast<double>(std::max<int64_t>(1, sum.rounds + other.rounds));
  sum.participants =
      (sum.participants * static_cast<double>(sum.rounds) + other.participants * static_cast<double>(other.rounds)) /
      rounds;
  sum.rounds += other.rounds;
  sum.threads += other.threads;
  AddTo(sum.wait_ns, other.wait_ns);
  AddTo(sum.span_ns, other.span_ns);
  sum.late.insert(sum.late.end(), other.late.begin(), other.late.end());
  std::stable_sort(sum.late.begin(), sum.late.end(),
                   [](const auto& a, const auto& b) { return a.caused_ns > b.caused_ns; });
}

Waits WaitsOf(const FindingInput& input, const ObjectGroup& group) {
  Waits waits;
  for (const auto& [process, barriers] : input.ByProcess(group)) {
    BarrierRounds rounds = input.Of<BarrierWaits>().RoundsAt(barriers);
    if (rounds.rounds == 0) continue;
    AddTo(waits.explained_ns, ExplainedByQueues(input, rounds));
    AddRounds(waits.rounds, rounds);
    const Late late = FindLate(rounds);
    if (!IsConsistent(rounds, late)) continue;
    rounds.late.resize(late.threads);
    AddRounds(waits.late, rounds);
  }
  waits.is_imbalance = waits.late.wait_ns > 0 && PartOf(waits.late.wait_ns, waits.rounds.wait_ns) >= kLateCause &&
                       !IsLateByStart(group, waits.rounds);
  return waits;
}

/// Whether they wait for each other's CPUs. What that costs is oversubscription. Who meets every few microseconds
/// queues because it is woken that often.
bool IsForCpus(const FindingInput& input, const Waits& waits, int64_t wait_ns) {
  return !waits.is_imbalance && !MeetTooOften(waits.rounds) && input.Cpus() > 0 &&
         waits.rounds.threads > static_cast<int64_t>(input.Cpus()) &&
         PartOf(waits.explained_ns, wait_ns) >= kMostlyQueued;
}

Finding OfGroup(const FindingInput& input, const ObjectGroup& group, const Waits& waits, SamePlaces& places) {
  const BarrierRounds& rounds = waits.rounds;
  const bool is_imbalance = waits.is_imbalance;
  Finding finding = input.About(is_imbalance ? FindingClass::kLoadImbalance : FindingClass::kWaitAtBarrier, group);
  finding.advice = Advice(rounds, group.sums.kind == wire::SyncKind::kTeamBarrier, is_imbalance);
  finding.confidence =
      rounds.rounds >= 2 * kFewestRounds && !input.times.by_thread.empty() ? Confidence::kHigh : Confidence::kMedium;
  finding.figures["rounds"] = static_cast<double>(rounds.rounds);
  finding.figures["late_threads_part"] = FindLate(rounds).part;
  finding.figures["queue_seconds"] = static_cast<double>(waits.explained_ns) * 1e-9;
  finding.figures["period_seconds"] = static_cast<double>(PeriodNs(rounds)) * 1e-9;
  finding.evidence.push_back(Meetings(input, rounds, group.sums.total, finding.figures.at("processes")));
  if (is_imbalance) {
    SayWhoIsLate(input, waits.late, rounds.rounds, places, finding);
  } else {
    finding.site = input.names.PlaceOf(LateSite(rounds, places));
  }
  if (waits.explained_ns > 0)
    finding.evidence.push_back(fmt::format("at most {} of it because the late ones had to wait for a CPU",
                                           FormatDuration(waits.explained_ns)));
  return finding;
}

}  // namespace

void FindBarriers(const FindingInput& input, std::vector<Finding>& findings) {
  SamePlaces places(input.names);
  const auto is_enough = [&input](int64_t ns) { return input.IsEnough(ns, kLeastBarrierShare); };
  for (const ObjectGroup& group : GroupObjects(input.waits.sums, input.meta, IsBarrier, is_enough, places)) {
    const int64_t wait_ns = group.sums.total.wait_ns;
    const Waits waits = WaitsOf(input, group);
    if (waits.rounds.rounds > 0 && is_enough(wait_ns - std::min(wait_ns, waits.explained_ns)) &&
        !IsForCpus(input, waits, wait_ns))
      findings.push_back(OfGroup(input, group, waits, places));
  }
}

}  // namespace attune::analysis
