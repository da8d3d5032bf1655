/// Losses of an MPI job's ranks: late-sender, late-receiver, wait-at-collective, small-messages and rank-placement
/// (docs/findings.md).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/findings/finding_input.h"
#include "analysis/findings/gain.h"
#include "analysis/findings/late_causes.h"
#include "analysis/messages/placement.h"
#include "base/units.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::kAbsent;

/// Even ranks in balance wait a little for each other.
constexpr double kLeastWaitShare = 0.05;
constexpr double kLateCause = 0.8;  ///< part of the waiting that is for one rank

// Small messages: the cost of each of them counts, not its bytes.
constexpr int64_t kSmallBytes = 1024;
constexpr int64_t kFewestSmall = 1000;
constexpr int64_t kFewestOfLink = 100;
/// A longer call waits for something else than the message.
constexpr int64_t kLongestSmallNs = 100'000;

// Placement.
constexpr int64_t kLeastNearBytes = 1 << 20;  ///< that tell how fast near messages are
constexpr double kLeastFewerFar = 0.3;        ///< part of the bytes between groups that another placement saves

constexpr std::string_view kSenderAdvice =
    "Send earlier: first what others wait for, then the rest of the work; or give that rank less to do. A receiver "
    "that "
    "has other work can do it meanwhile: MPI_Irecv before, MPI_Wait after.";
constexpr std::string_view kReceiverAdvice =
    "Post the receive earlier (MPI_Irecv before the work, MPI_Wait after it), or send without waiting: MPI_Isend, and "
    "MPI_Wait when the buffer is needed again.";
constexpr std::string_view kLateRankAdvice =
    "Give the late rank less to do: share the work out by what it costs, not by how much it is.";
constexpr std::string_view kCollectiveAdvice =
    "No rank is late more than the others: meet less often, join several operations in one, or begin them before they "
    "are needed (MPI_Iallreduce, MPI_Ibarrier, ...) and wait later.";
constexpr std::string_view kSmallAdvice =
    "Each message costs the same however small it is: gather what goes to the same rank and send it at once, or use a "
    "derived datatype, or a collective operation.";
constexpr std::string_view kPlacementAdvice =
    "Put ranks that send each other much next to each other: mpirun --map-by core --rank-by core (or slot), or a rank "
    "file; MPI_Dist_graph_create with reorder lets the library do it.";

/// "rank 3"; else its number as a thread.
std::string RankName(const FindingInput& input, ElementId thread) {
  const model::Element* of_thread = input.meta.FindElement(thread);
  const model::Element* process = of_thread == nullptr ? nullptr : input.meta.FindElement(of_thread->parent);
  const model::Element* rank = process == nullptr ? nullptr : input.meta.FindElement(process->parent);
  if (rank != nullptr && rank->kind == model::ElementKind::kRank) return rank->name;
  return of_thread == nullptr ? "?" : fmt::format("thread {}", of_thread->os_id);
}

/// A thread that goes by the name of its rank.
FindingThread RankThread(const FindingInput& input, ElementId thread, int64_t lost_ns) {
  FindingThread made = input.Thread(thread, lost_ns);
  made.name = RankName(input, thread);
  return made;
}

/// "rank 0", "rank 0 and rank 1", "4 ranks"; a rank may have several threads.
std::string Who(const FindingInput& input, const std::map<ElementId, int64_t>& threads) {
  std::set<std::string> ranks;
  for (const auto& [thread, ns] : threads) ranks.insert(RankName(input, thread));
  if (ranks.size() > 2) return fmt::format("{} ranks", ranks.size());
  return fmt::format("{}", fmt::join(ranks, " and "));
}

// ---- waiting for each other

FindingClass ClassOf(MessageWaitKind kind) {
  switch (kind) {
    case MessageWaitKind::kLateSender: return FindingClass::kLateSender;
    case MessageWaitKind::kLateReceiver: return FindingClass::kLateReceiver;
    case MessageWaitKind::kCollective: break;
  }
  return FindingClass::kWaitAtCollective;
}

std::string WhatHappened(MessageWaitKind kind, const std::string& function) {
  switch (kind) {
    case MessageWaitKind::kLateSender:
      return fmt::format("for messages that were not sent yet, received by {}", function);
    case MessageWaitKind::kLateReceiver:
      return fmt::format("with messages for one that did not receive yet, sent by {}", function);
    case MessageWaitKind::kCollective: break;
  }
  switch (PatternOf(function)) {
    case CollectivePattern::kFromRoot: return fmt::format("for the root to come to {}", function);
    case CollectivePattern::kToRoot: return fmt::format("as root for others to come to {}", function);
    case CollectivePattern::kPrefix: return fmt::format("for those before to come to {}", function);
    case CollectivePattern::kAll:
    case CollectivePattern::kNeighbours: break;
  }
  return fmt::format("for others to come to {}", function);
}

void SayWhoWasLate(const FindingInput& input, MessageWaitKind kind, const MessageWaitSums& sums, Finding& finding) {
  for (const auto& [thread, late] : sums.caused_by)
    finding.caused_by.push_back(RankThread(input, thread, late.caused_ns));
  std::ranges::stable_sort(finding.caused_by, std::greater{}, &FindingThread::lost_ns);
  if (finding.caused_by.size() > Finding::kMaxThreads) finding.caused_by.resize(Finding::kMaxThreads);
  std::map<std::string, int64_t> by_rank;
  for (const auto& [thread, late] : sums.caused_by) AddTo(by_rank[RankName(input, thread)], late.caused_ns);
  const auto first = std::ranges::max_element(by_rank, {}, [](const auto& rank) { return rank.second; });
  const double part = PartOf(first->second, sums.wait_ns);
  finding.figures["late_rank_part"] = part;
  const bool is_one = part >= kLateCause;
  if (kind == MessageWaitKind::kCollective) finding.advice = is_one ? kLateRankAdvice : kCollectiveAdvice;
  const std::string place = PlaceText(finding.site);
  finding.evidence.push_back(fmt::format("{:.0f} % of the waiting is for {}{}", 100 * part, first->first,
                                         place.empty() ? "" : fmt::format(", until it came to {}", place)));
}

void SayWhoWaitedItself(const MessageWaitSums& sums, Finding& finding) {
  if (PartOf(sums.indirect_ns, sums.wait_ns) >= 0.05)
    finding.evidence.push_back(
        fmt::format("{} of it was for ranks that were late because they waited themselves, for "
                    "this one",
                    FormatDuration(sums.indirect_ns)));
}

void FindWaits(const FindingInput& input, std::vector<Finding>& findings) {
  const MessageFacts& facts = input.messages;
  for (const auto& [cause, sums] : facts.waits.ByCause()) {
    const auto is_enough = [&](int64_t ns) {
      return ns >= kLeastLostNs && PartOf(ns, facts.ranks_ns) >= kLeastWaitShare;
    };
    const int64_t explained_ns = ExplainedByQueues(input, sums);
    if (!is_enough(sums.wait_ns) || !is_enough(sums.wait_ns - explained_ns)) continue;
    const auto [kind, site] = cause;
    Finding finding{.kind = ClassOf(kind), .lost_ns = sums.wait_ns, .site = input.names.PlaceOf(site)};
    finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
    finding.object = MostOf(sums.by_late_function);
    finding.object_name = input.meta.NameOf(finding.object);
    std::vector<FindingThread> threads;
    for (const auto& [thread, ns] : sums.by_thread) threads.push_back(RankThread(input, thread, ns));
    FindingInput::SetThreads(std::move(threads), finding);
    finding.waiters = WaitersOfMessages(input, sums.waiters);
    finding.advice = kind == MessageWaitKind::kLateSender ? kSenderAdvice : kReceiverAdvice;
    finding.figures["waits"] = static_cast<double>(sums.waits);
    finding.figures["longest_seconds"] = static_cast<double>(sums.longest_ns) * 1e-9;
    finding.figures["indirect_seconds"] = static_cast<double>(sums.indirect_ns) * 1e-9;
    finding.figures["queue_seconds"] = static_cast<double>(explained_ns) * 1e-9;
    finding.figures["part_of_ranks_time"] = PartOf(sums.wait_ns, facts.ranks_ns);
    finding.evidence.push_back(fmt::format("{} waited {} times, {} on average, {}", Who(input, sums.by_thread),
                                           sums.waits, FormatDuration(sums.wait_ns / std::max<int64_t>(1, sums.waits)),
                                           WhatHappened(kind, input.meta.NameOf(MostOf(sums.by_function)))));
    SayWhoWasLate(input, kind, sums, finding);
    SayWhatWasDone(input, sums, finding);
    SayWhoWaitedItself(sums, finding);
    if (explained_ns > 0)
      finding.evidence.push_back(
          fmt::format("at most {} of it because the late ones had to wait for a CPU", FormatDuration(explained_ns)));
    if (sums.late_before_ns > 0) {
      // The rest is left if that rank sends in time.
      finding.gain_ns = std::min(BoundGain(input, finding), sums.wait_ns - std::min(sums.wait_ns, sums.late_before_ns));
      finding.figures["late_before_seconds"] = static_cast<double>(sums.late_before_ns) * 1e-9;
      finding.evidence.push_back(fmt::format("during {} of it others waited for messages of the same rank",
                                             FormatDuration(sums.late_before_ns)));
    }
    const bool is_whole = facts.graph.unmatched_sent == 0 && facts.graph.unmatched_received == 0;
    finding.confidence = is_whole && !input.times.by_thread.empty() ? Confidence::kHigh : Confidence::kMedium;
    findings.push_back(std::move(finding));
  }
}

// ---- small messages

void FindSmallMessages(const FindingInput& input, std::vector<Finding>& findings) {
  const MessageFacts& facts = input.messages;
  Finding finding{.kind = FindingClass::kSmallMessages, .advice = std::string(kSmallAdvice)};
  std::map<ElementId, int64_t> sent_at;
  std::map<ElementId, int64_t> by_rank_ns;
  std::map<ElementId, MessageWaiter> waiters;
  SamePlaces places(input.names);
  int64_t sent = 0, sent_bytes = 0;
  for (const TaskLink& link : facts.graph.links) {
    const TaskSide& side = link.side;
    const int64_t used_ns = side.time_ns - std::min(side.time_ns, side.waited_ns);
    if (side.count < kFewestOfLink || side.bytes / side.count > kSmallBytes || used_ns / side.count > kLongestSmallNs)
      continue;
    AddTo(finding.lost_ns, used_ns);
    AddTo(by_rank_ns[link.is_sender ? link.source : link.destination], used_ns);
    const ElementId place = places.Of(link.place.id);
    MessageWaiter& waiter = waiters[place];
    AddTo(waiter.waits, side.count);
    AddTo(waiter.wait_ns, used_ns);
    AddTo(waiter.by_thread[link.is_sender ? link.source : link.destination], used_ns);
    if (!link.is_sender) continue;
    AddTo(sent_at[place], side.count);
    AddTo(sent, side.count);
    AddTo(sent_bytes, side.bytes);
  }
  if (sent < kFewestSmall || finding.lost_ns < kLeastLostNs || PartOf(finding.lost_ns, facts.ranks_ns) < kLeastShare)
    return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  finding.site = input.names.PlaceOf(MostOf(sent_at));
  finding.waiters = WaitersOfMessages(input, waiters);
  std::vector<FindingThread> threads;
  for (const auto& [rank, ns] : by_rank_ns) {
    const TaskRank* of_rank = facts.graph.Find(rank);
    threads.push_back({.id = rank,
                       .pid = of_rank == nullptr ? kAbsent : of_rank->pid,
                       .tid = of_rank == nullptr ? kAbsent : of_rank->pid,
                       .name = of_rank == nullptr ? std::string() : of_rank->name,
                       .lost_ns = ns});
  }
  FindingInput::SetThreads(std::move(threads), finding);
  finding.figures["messages"] = static_cast<double>(sent);
  finding.figures["mean_bytes"] = static_cast<double>(sent_bytes) / static_cast<double>(sent);
  finding.figures["part_of_ranks_time"] = PartOf(finding.lost_ns, facts.ranks_ns);
  finding.evidence.push_back(
      fmt::format("{} messages of {} bytes on average were sent; to send and receive one took {} of calls", sent,
                  sent_bytes / sent, FormatDuration(finding.lost_ns / sent)));
  findings.push_back(std::move(finding));
}

// ---- placement

/// Name of the groups of ranks: nodes, packages or hosts.
std::string_view GroupsText(const FindingInput& input, const PlacementPlan& plan) {
  const model::Element* group = input.meta.FindElement(plan.ranks.front().group);
  if (group == nullptr || group->kind == model::ElementKind::kNode) return "nodes";
  return group->kind == model::ElementKind::kMachine ? "hosts" : "packages";
}

void FindPlacement(const FindingInput& input, std::vector<Finding>& findings) {
  const MessageFacts& facts = input.messages;
  const PlacementPlan plan = PlanPlacement(input.meta, facts.graph);
  const int64_t far_bytes = plan.far_bytes;
  const int64_t saved_bytes = far_bytes - plan.far_bytes_then;
  if (PartOf(saved_bytes, far_bytes) < kLeastFewerFar) return;
  std::map<ElementId, ElementId> group_of;
  for (const RankPlace& rank : plan.ranks) group_of[rank.rank] = rank.group;
  // Time for a byte near and far, of both sides together.
  double near_ns = 0, near_bytes = 0, far_ns = 0;
  for (const TaskPair& pair : facts.graph.pairs) {
    const auto a = group_of.find(pair.source), b = group_of.find(pair.destination);
    if (a == group_of.end() || b == group_of.end() || pair.source == pair.destination) continue;
    const auto used = [](const TaskSide& side) {
      return static_cast<double>(side.time_ns - std::min(side.time_ns, side.waited_ns));
    };
    const double ns = used(pair.sender) + used(pair.receiver);
    if (a->second == b->second) {
      near_ns += ns;
      near_bytes += static_cast<double>(pair.Bytes());
    } else {
      far_ns += ns;
    }
  }
  const double far_ns_a_byte = far_ns / static_cast<double>(far_bytes);
  const bool near_is_known = near_bytes >= static_cast<double>(kLeastNearBytes);
  const double gain = far_ns_a_byte - (near_is_known ? near_ns / near_bytes : 0);
  Finding finding{.kind = FindingClass::kRankPlacement,
                  .lost_ns = static_cast<int64_t>(std::clamp(gain * static_cast<double>(saved_bytes), 0.0, 9e18)),
                  .advice = std::string(kPlacementAdvice),
                  .confidence = near_is_known ? Confidence::kMedium : Confidence::kLow};
  if (finding.lost_ns < kLeastLostNs || PartOf(finding.lost_ns, facts.ranks_ns) < kLeastShare) return;
  finding.share = PartOf(finding.lost_ns, input.waits.thread_ns);
  std::vector<std::string> moved;
  for (const RankPlace& rank : plan.ranks) {
    if (rank.group != rank.group_then && moved.size() < 4)
      moved.push_back(fmt::format("{} to {}", rank.name, input.meta.NameOf(rank.group_then)));
  }
  finding.figures["far_bytes"] = static_cast<double>(far_bytes);
  finding.figures["far_bytes_then"] = static_cast<double>(far_bytes - saved_bytes);
  finding.figures["bytes_by_distance"] = plan.bytes_by_distance;
  finding.figures["bytes_by_distance_then"] = plan.bytes_by_distance_then;
  finding.evidence.push_back(fmt::format("{} went between {}, {:.0f} % of it between ranks that could be on one",
                                         FormatBytes(far_bytes), GroupsText(input, plan),
                                         100 * PartOf(saved_bytes, far_bytes)));
  std::string how = "better: ";
  for (size_t i = 0; i < moved.size(); ++i) how += (i == 0 ? "" : ", ") + moved[i];
  finding.evidence.push_back(how);
  if (plan.bytes_by_distance_then < plan.bytes_by_distance)
    finding.evidence.push_back(fmt::format(
        "bytes x distance would be {:.0f} % less; attune export RECORDING --to rankfile -o FILE, then mpirun "
        "--rankfile FILE, does it",
        100 * (1 - plan.bytes_by_distance_then / plan.bytes_by_distance)));
  if (!near_is_known)
    finding.evidence.emplace_back("how fast near messages are was not seen: the time is the most that it can be");
  findings.push_back(std::move(finding));
}

}  // namespace

void FindMessages(const FindingInput& input, std::vector<Finding>& findings) {
  if (input.messages.graph.ranks.empty()) return;
  FindWaits(input, findings);
  FindSmallMessages(input, findings);
  FindPlacement(input, findings);
}

}  // namespace attune::analysis
