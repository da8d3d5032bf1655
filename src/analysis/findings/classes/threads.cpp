/// Threads that are made for small pieces of work, and futures that are waited for before the next one is started:
/// short-threads and sequential-futures (docs/findings.md).

#include <fmt/format.h>

#include <algorithm>

#include "analysis/findings/interpreter_lock.h"
#include "analysis/findings/process_sums.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::SyncKind;

constexpr FindingClass kShortThreads{
    .name = "short-threads", .about = "Threads are made and joined for small pieces of work", .explains_turns = true};
constexpr FindingClass kSequentialFutures{.name = "sequential-futures",
                                          .about = "A future is waited for before the next one is started",
                                          .explains_turns = true};

constexpr std::string_view kShortAdvice =
    "Keep threads and give them work (a pool, a parallel loop), or give each new thread a larger piece: to make, start "
    "and join one costs tens of microseconds.";
constexpr std::string_view kFutureAdvice =
    "Start all of them first, then wait: keep the futures in a container, and get their results when the last one has "
    "been started.";

// Short threads.
constexpr int64_t kManyThreads = 200;
constexpr double kThreadsASecond = 500;       ///< over the process's life: each lives for some milliseconds at most
constexpr int64_t kShortPieceNs = 2'000'000;  ///< a wait for such a thread
// Sequential futures.
constexpr int64_t kFewWaits = 3;
constexpr double kMostlyAlone = 0.8;        ///< part of the waits that follow the start of a single thread, or of none
constexpr double kOneAtATime = 1.25;        ///< threads are active while there are waits, on average
constexpr double kLeastOfLife = 0.1;        ///< wait time for futures, as part of the process's life
constexpr int64_t kLargePieceNs = 500'000;  ///< shorter ones cost more to start than they take

bool IsCreation(SyncKind kind) { return kind == SyncKind::kCreate; }
bool IsFuture(SyncKind kind) { return kind == SyncKind::kFuture; }
bool IsAwaitingThreads(SyncKind kind) { return kind == SyncKind::kJoin || kind == SyncKind::kFuture; }

/// Waits of the threads that start others for the end of these, as far as they are short.
SyncCounts ShortWaits(const ObjectGroup& waits) {
  SyncCounts sums;
  for (const auto& [place, threads] : waits.sums.places) {
    SyncCounts at_place;
    for (const auto& [thread, counts] : threads) at_place.Add(counts);
    if (at_place.waits > 0 && at_place.wait_ns / at_place.waits < kShortPieceNs) sums.Add(at_place);
  }
  return sums;
}

void FindShort(const FindingInput& input, std::vector<Finding>& findings) {
  auto joins = MergeByProcess(input, input.waits.sums.objects, IsAwaitingThreads);
  for (const auto& [process, creations] : MergeByProcess(input, input.Of<CallSums>().calls(), IsCreation)) {
    const SyncCounts& made = creations.sums.total;
    const double life_s = static_cast<double>(LifeOf(input, process)) * 1e-9;
    if (made.count < kManyThreads || static_cast<double>(made.count) < kThreadsASecond * life_s) continue;
    const SyncCounts joined = ShortWaits(joins[process]);
    Finding finding = AboutBusiest(input, kShortThreads, creations);
    AddTo(finding.lost_ns, joined.wait_ns);
    if (!input.IsEnough(finding.lost_ns)) continue;
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.advice = kShortAdvice;
    finding.confidence = Confidence::kHigh;
    finding.figures["created"] = static_cast<double>(made.count);
    finding.figures["create_seconds"] = static_cast<double>(made.wait_ns) * 1e-9;
    finding.figures["join_seconds"] = static_cast<double>(joined.wait_ns) * 1e-9;
    finding.evidence.push_back(fmt::format("{} threads were made, {:.0f} a second; a call that makes one took {}",
                                           made.count, static_cast<double>(made.count) / std::max(1e-9, life_s),
                                           FormatDuration(made.wait_ns / std::max<int64_t>(1, made.waits))));
    if (joined.waits > 0)
      finding.evidence.push_back(fmt::format("their end was waited for {}", TimesText(joined.waits, joined.wait_ns)));
    findings.push_back(std::move(finding));
  }
}

/// Whether hardly ever two results are outstanding: by what the waiting threads started between their waits, and where
/// they start none (a pool), by how many threads of it and of its children were active on average.
bool AreSequential(const FindingInput& input, ElementId process, const ObjectGroup& futures, const Activity& activity) {
  StartOrder::Waits order;
  for (const auto& [thread, counts] : futures.sums.ByThread()) {
    const StartOrder::Waits waits = input.Of<StartOrder>().WaitsOf(thread);
    order.after_one += waits.after_one;
    order.after_several += waits.after_several;
    order.after_none += waits.after_none;
  }
  const int64_t all = order.after_one + order.after_several + order.after_none;
  if (PartOf(order.after_one, all) >= kMostlyAlone) return true;
  if (PartOf(order.after_none, all) < kMostlyAlone) return false;
  const double life_ns = static_cast<double>(LifeOf(input, process));
  double active_ns = activity.DemandOf(process);
  for (const model::Process& child : input.meta.processes) {
    if (child.parent == process) active_ns += activity.DemandOf(child.id);  // a pool of processes
  }
  // They are under way all the same.
  const auto interpreter_ns = static_cast<double>(WaitsForInterpreter(input, process).total.wait_ns);
  return active_ns > 0 && active_ns + interpreter_ns <= kOneAtATime * life_ns;
}

void FindSequential(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.Cpus() == 1) return;
  const Activity activity = ActivityOf(input);
  for (const auto& [process, futures] : MergeByProcess(input, input.waits.sums.objects, IsFuture)) {
    const SyncCounts& total = futures.sums.total;
    if (total.waits < kFewWaits || total.wait_ns / total.waits < kLargePieceNs || !input.IsEnough(total.wait_ns))
      continue;
    if (PartOf(total.wait_ns, LifeOf(input, process)) < kLeastOfLife) continue;
    if (!AreSequential(input, process, futures, activity)) continue;
    Finding finding = AboutBusiest(input, kSequentialFutures, futures);
    finding.advice = kFutureAdvice;
    finding.confidence = Confidence::kMedium;  // whether one needs the result of another is not known
    finding.evidence.push_back(fmt::format("a result was waited for {}, and hardly anything else was under way",
                                           TimesText(total.waits, total.wait_ns)));
    findings.push_back(std::move(finding));
  }
}

}  // namespace

void FindThreads(const FindingInput& input, std::vector<Finding>& findings) {
  FindShort(input, findings);
  FindSequential(input, findings);
}

}  // namespace attune::analysis
