#include "analysis/messages/lost_messages.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>

#include "base/saturating.h"
#include "model/rows.h"

namespace attune::analysis {
namespace {

using model::ElementId;

/// Process, place and function of calls.
using CallKey = std::tuple<ElementId, ElementId, ElementId>;

/// A call of other functions (MPI_Startall, persistent requests) is not one message.
bool IsOneMessage(std::string_view function) {
  constexpr std::array<std::string_view, 13> kFunctions{
      "MPI_Send",   "MPI_Ssend", "MPI_Rsend", "MPI_Bsend", "MPI_Isend",    "MPI_Issend",          "MPI_Irsend",
      "MPI_Ibsend", "MPI_Recv",  "MPI_Irecv", "MPI_Mrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace"};
  return std::ranges::find(kFunctions, function) != kFunctions.end();
}

int64_t DroppedEvents(const model::Metadata& meta) {
  int64_t dropped = 0;
  for (const model::Gap& gap : meta.gaps) {
    if (gap.reason == model::GapReason::kDropped && gap.count > 0) AddTo(dropped, gap.count);
  }
  return dropped;
}

Result<std::map<CallKey, int64_t>> ReadCalls(model::Source& source, const model::Metadata& meta) {
  std::map<CallKey, int64_t> calls;
  ATTUNE_CHECK_OK(source.ReadTable(model::Sync::kTable, [&](const model::Batch& batch) {
    for (const model::Sync& row : model::RowsFrom<model::Sync>(batch)) {
      if (row.kind != wire::SyncKind::kMpi) continue;
      const model::Element* thread = meta.FindElement(row.thread);
      if (thread != nullptr) AddTo(calls[{thread->parent, row.site, row.object}], row.count);
    }
    return true;
  }));
  return calls;
}

/// The addition to a side that grows by so much. @param more 0.5: half as much again
TaskSide More(const TaskSide& side, double more) {
  const auto of = [more](int64_t amount) {
    return static_cast<int64_t>(std::clamp(static_cast<double>(amount) * more, 0.0, 9e18));
  };
  return {
      .count = of(side.count), .bytes = of(side.bytes), .time_ns = of(side.time_ns), .waited_ns = of(side.waited_ns)};
}

void AddSize(TaskGraph& graph, const TaskSide& extra) {
  const int64_t mean = extra.bytes / std::max<int64_t>(1, extra.count);
  const auto size = std::ranges::find_if(
      graph.sizes, [mean](const TaskSize& each) { return each.low_bytes <= mean && mean <= each.high_bytes; });
  if (size == graph.sizes.end()) return;
  AddTo(size->count, extra.count);
  AddTo(size->bytes, extra.bytes);
}

/// Finds the pairs and ranks that links are part of.
class GraphIndex {
 public:
  explicit GraphIndex(TaskGraph& graph) : graph_(graph) {
    for (TaskPair& pair : graph.pairs) pairs_[{pair.source, pair.destination}] = &pair;
    for (TaskRank& rank : graph.ranks) ranks_[rank.id] = &rank;
  }

  /// Lets a link grow, and what it is part of. @param more 0.5: half as much again
  void Grow(TaskLink& link, double more) {
    const TaskSide extra = More(link.side, more);
    link.side.Add(extra);
    if (const auto pair = pairs_.find({link.source, link.destination}); pair != pairs_.end())
      (link.is_sender ? pair->second->sender : pair->second->receiver).Add(extra);
    if (const auto rank = ranks_.find(link.is_sender ? link.source : link.destination); rank != ranks_.end())
      (link.is_sender ? rank->second->sent : rank->second->received).Add(extra);
    if (link.is_sender) AddSize(graph_, extra);
  }

 private:
  TaskGraph& graph_;
  std::map<std::pair<ElementId, ElementId>, TaskPair*> pairs_;
  std::map<ElementId, TaskRank*> ranks_;
};

}  // namespace

Status CountLostMessages(model::Source& source, const model::Metadata& meta, TaskGraph& graph) {
  const int64_t dropped = DroppedEvents(meta);
  if (dropped == 0 || graph.links.empty()) return {};
  ATTUNE_TRY(const auto calls, ReadCalls(source, meta));
  std::map<ElementId, ElementId> process_of;
  for (const model::Element& element : meta.elements) {
    if (element.kind == model::ElementKind::kProcess) process_of[element.parent] = element.id;
  }
  const auto key_of = [&](const TaskLink& link) {
    const auto process = process_of.find(link.is_sender ? link.source : link.destination);
    return CallKey(process == process_of.end() ? 0 : process->second, link.place.id, link.function);
  };
  std::map<std::pair<CallKey, bool>, int64_t> seen;
  for (const TaskLink& link : graph.links) {
    if (IsOneMessage(link.function_name)) AddTo(seen[{key_of(link), link.is_sender}], link.side.count);
  }
  double lost = 0;
  for (const auto& [key, count] : seen) {
    const auto called = calls.find(key.first);
    if (called != calls.end()) lost += static_cast<double>(std::max<int64_t>(0, called->second - count));
  }
  if (lost <= 0) return {};
  // Calls that make no message (to MPI_PROC_NULL) are counted, too: no more were lost than events were dropped.
  const double part = std::min(1.0, static_cast<double>(dropped) / lost);
  GraphIndex index(graph);
  for (TaskLink& link : graph.links) {
    const auto known = seen.find({key_of(link), link.is_sender});
    const auto called = calls.find(key_of(link));
    if (!IsOneMessage(link.function_name) || known == seen.end() || called == calls.end()) continue;
    const auto count = static_cast<double>(std::max<int64_t>(1, known->second));
    const double more = part * (static_cast<double>(called->second) - count) / count;
    if (more > 0) index.Grow(link, more);
  }
  return {};
}

}  // namespace attune::analysis
