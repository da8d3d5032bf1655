#include "analysis/timeline/finding_times.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "analysis/operators/operator.h"
#include "analysis/timeline/rank_timeline.h"
#include "base/saturating.h"
#include "model/rows.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::TimeState;

/// Time lost by part of a range.
class Parts {
 public:
  explicit Parts(model::TimeRange range)
      : t0_ns_(range.t0_ns), width_ns_(std::max<int64_t>(1, SaturatingSub(range.t1_ns, range.t0_ns) / kFindingParts)) {}

  void Add(int64_t from_ns, int64_t to_ns, double share = 1) {
    from_ns = std::max(from_ns, t0_ns_);
    to_ns = std::min(to_ns, BeginOf(kFindingParts));
    while (from_ns < to_ns) {
      const int64_t part = (from_ns - t0_ns_) / width_ns_;
      const int64_t next_ns = std::min(to_ns, BeginOf(part + 1));
      AddTo(lost_ns_[static_cast<size_t>(part)], static_cast<int64_t>(static_cast<double>(next_ns - from_ns) * share));
      from_ns = next_ns;
    }
  }
  std::vector<FindingPart> Found() const {
    std::vector<FindingPart> found;
    for (int64_t part = 0; part < kFindingParts; ++part) {
      const int64_t lost_ns = lost_ns_[static_cast<size_t>(part)];
      if (lost_ns > 0) found.push_back({BeginOf(part), BeginOf(part + 1), lost_ns});
    }
    return found;
  }

 private:
  int64_t BeginOf(int64_t part) const { return SaturatingAdd(t0_ns_, part * width_ns_); }

  int64_t t0_ns_;
  int64_t width_ns_;
  std::array<int64_t, kFindingParts> lost_ns_{};
};

bool IsQueue(const Finding& finding) {
  return finding.kind.shows == Shows::kQueues || finding.kind.explains_queues || finding.kind.of_others;
}

bool IsQueued(TimeState state) {
  return state == TimeState::kQueuedProgram || state == TimeState::kQueuedOthers || state == TimeState::kQueuedWake;
}

struct Loss {
  Loss(const Finding& finding, model::TimeRange range)
      : by_object(range),
        by_site(range),
        by_state(range),
        is_queue(IsQueue(finding)),
        is_of_others(finding.kind.of_others),
        is_alone(finding.kind.of_lone_threads) {
    for (const FindingThread& thread : finding.threads) threads.insert(thread.id);
    for (const FindingThread& thread : finding.caused_by) causes.insert(thread.id);
    is_whole = finding.thread_count <= static_cast<int64_t>(finding.threads.size());
  }
  bool HasThread(ElementId thread) const { return !is_whole || threads.contains(thread); }
  std::vector<FindingPart> Found() const {
    for (const Parts* parts : {&by_state, &by_object, &by_site}) {
      if (auto found = parts->Found(); !found.empty()) return found;
    }
    return {};
  }

  Parts by_object, by_site;  ///< waits
  Parts by_state;            ///< times queued, or alone
  std::set<ElementId> threads, causes;
  bool is_whole = false;  ///< all threads are listed
  bool is_queue = false;
  bool is_of_others = false;  ///< queues behind other programs alone, of all threads
  bool is_alone = false;
};

class FindingTimes final : public Operator {
 public:
  FindingTimes(const model::Metadata& meta, std::span<const Finding> findings, model::TimeRange range) {
    for (const model::Element& element : meta.elements) {
      if (element.kind == model::ElementKind::kThread) last_ns_[element.id] = element.start_ns;
    }
    losses_.reserve(findings.size());
    for (const Finding& finding : findings) {
      const size_t at = losses_.size();
      losses_.emplace_back(finding, range);
      if (finding.object != 0) objects_[finding.object].push_back(at);
      std::set<ElementId> sites;
      for (const WaitSite& waiter : finding.waiters) sites.insert(waiter.id);
      if (finding.waiters.empty()) sites.insert(finding.site.id);
      for (const ElementId site : sites) {
        if (site != 0) sites_[site].push_back(at);
      }
    }
  }

  std::vector<model::Table> Tables() const override { return {model::StateTime::kTable, model::Message::kTable}; }
  void AddRows(const model::Batch& batch) override {
    if (batch.table == model::Message::kTable) {
      for (const auto& row : model::RowsFrom<model::Message>(batch)) AddMessage(row);
      return;
    }
    for (const auto& row : model::RowsFrom<model::StateTime>(batch)) AddState(row);
  }
  EventKinds Kinds() const override { return objects_.empty() && sites_.empty() ? EventKinds() : kWaitEvents; }
  void AddEvents(const model::EventBlock& block) override {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      if (!wire::IsWait(block.kind[row]) || block.a[row] <= 0) continue;
      AddWait(block, row, objects_, block.object[row], &Loss::by_object);
      AddWait(block, row, sites_, block.site[row], &Loss::by_site);
    }
  }

  Loss& At(size_t finding) { return losses_[finding]; }
  std::vector<std::vector<FindingPart>> Found() const {
    std::vector<std::vector<FindingPart>> found;
    found.reserve(losses_.size());
    for (const Loss& loss : losses_) found.push_back(loss.Found());
    return found;
  }

 private:
  using Known = std::unordered_map<ElementId, std::vector<size_t>>;

  void AddWait(const model::EventBlock& block, size_t row, const Known& known, int64_t id, Parts Loss::* parts) {
    const auto found = known.find(static_cast<ElementId>(id));
    if (found == known.end()) return;
    for (const size_t at : found->second) {
      Loss& loss = losses_[at];
      if (!loss.HasThread(static_cast<ElementId>(block.thread[row]))) continue;
      (loss.*parts).Add(SaturatingSub(block.t_ns[row], block.a[row]), block.t_ns[row]);
    }
  }
  /// Calls that read and write pipes, sockets and the like are no events. Messages of one call have waited since the
  /// same moment.
  void AddMessage(const model::Message& row) {
    const auto found = sites_.find(row.wait_site != 0 ? row.wait_site : row.site);
    if (found == sites_.end() || row.wait_ns == model::kAbsent) return;
    if (std::exchange(last_call_ns_[row.thread], row.wait_ns) == row.wait_ns) return;
    for (const size_t at : found->second) {
      if (losses_[at].HasThread(row.thread)) losses_[at].by_site.Add(row.wait_ns, row.t_ns);
    }
  }
  /// The rows of a thread come in order; those of one moment are of the time since those before.
  void AddState(const model::StateTime& row) {
    const auto last = last_ns_.find(row.element);
    if (last == last_ns_.end()) return;
    if (row.ns == 0 && row.alone_ns > 0) {
      for (Loss& loss : losses_) {
        if (loss.is_alone && loss.causes.contains(row.element))
          loss.by_state.Add(SaturatingSub(row.t_ns, row.alone_ns), row.t_ns);
      }
      return;
    }
    Moment& moment = moments_[row.element];
    if (row.t_ns != moment.t_ns) moment = {.t_ns = row.t_ns, .from_ns = std::exchange(last->second, row.t_ns)};
    const int64_t length_ns = SaturatingSub(row.t_ns, moment.from_ns);
    if (!IsQueued(row.state) || length_ns <= 0 || moment.from_ns == model::kAbsent) return;
    const double share = std::min(1.0, static_cast<double>(row.ns) / static_cast<double>(length_ns));
    for (Loss& loss : losses_) {
      // Its loss is of all threads, also of those that lost too little to be named.
      const bool is_its = loss.is_of_others ? row.state == TimeState::kQueuedOthers : loss.HasThread(row.element);
      if (loss.is_queue && is_its) loss.by_state.Add(moment.from_ns, row.t_ns, share);
    }
  }

  struct Moment {
    int64_t t_ns = INT64_MIN;
    int64_t from_ns = 0;
  };

  std::vector<Loss> losses_;
  Known objects_, sites_;
  std::unordered_map<ElementId, int64_t> last_ns_;  ///< of threads: when their rows were read last
  std::unordered_map<ElementId, Moment> moments_;
  std::unordered_map<ElementId, int64_t> last_call_ns_;  ///< by thread: since when its last call waited
};

/// The state of ranks in which a finding loses its time.
RankState StateOf(const Finding& finding) {
  if (finding.kind == FindingClass::kLateSender) return RankState::kLateSender;
  if (finding.kind == FindingClass::kLateReceiver) return RankState::kLateReceiver;
  return finding.kind == FindingClass::kWaitAtCollective ? RankState::kCollectiveWait : RankState::kMessages;
}

/// The rank that a thread belongs to, or the element itself where it is one; 0: none.
ElementId RankOf(const model::Metadata& meta, ElementId id) {
  constexpr int kDeepest = 16;
  const model::Element* element = meta.FindElement(id);
  for (int depth = 0; element != nullptr && depth < kDeepest; ++depth) {
    if (element->kind == model::ElementKind::kRank) return element->id;
    element = meta.FindElement(element->parent);
  }
  return 0;
}

Status AddRanks(model::Source& source, std::span<const Finding> findings, model::TimeRange range, FindingTimes& times) {
  const auto meta = source.Meta();
  std::set<ElementId> ranks;
  for (const Finding& finding : findings) {
    if (!finding.kind.of_ranks) continue;
    for (const FindingThread& thread : finding.threads) ranks.insert(RankOf(*meta, thread.id));
  }
  ranks.erase(0);
  if (ranks.empty()) return {};
  RankTimeline timeline(source);
  const std::vector<ElementId> wanted(ranks.begin(), ranks.end());
  ATTUNE_TRY(const RankTimelineView view, timeline.View(range, kFindingParts, wanted));
  // t_ns, rank, state, length_ns: in both
  const model::Batch& rows = view.is_single ? view.calls : view.states;
  if (rows.ints.size() < 4) return {};
  for (size_t at = 0; at < findings.size(); ++at) {
    if (!findings[at].kind.of_ranks) continue;
    const auto state = static_cast<int64_t>(StateOf(findings[at]));
    std::set<ElementId> losers;
    for (const FindingThread& thread : findings[at].threads) losers.insert(RankOf(*meta, thread.id));
    for (size_t row = 0; row < rows.ints[0].size(); ++row) {
      if (rows.ints[2][row] != state || !losers.contains(static_cast<ElementId>(rows.ints[1][row]))) continue;
      const int64_t t_ns = rows.ints[0][row];
      const int64_t length_ns = rows.ints[3][row];
      // A sum is spread evenly over its part of the time.
      const int64_t over_ns = view.is_single ? length_ns : view.width_ns;
      times.At(at).by_state.Add(t_ns, SaturatingAdd(t_ns, over_ns), view.is_single ? 1 : PartOf(length_ns, over_ns));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<FindingPart>>> FindFindingTimes(model::Source& source,
                                                               std::span<const Finding> findings) {
  if (findings.empty()) return std::vector<std::vector<FindingPart>>{};
  const model::TimeRange extent = source.Extent();
  const model::TimeRange range{SaneTime(extent.t0_ns), SaneTime(extent.t1_ns)};
  if (range.t1_ns <= range.t0_ns) return std::vector<std::vector<FindingPart>>(findings.size());
  FindingTimes times(*source.Meta(), findings, range);
  std::array<Operator*, 1> operators{&times};
  ATTUNE_CHECK_OK(FeedRows(source, operators));
  ATTUNE_CHECK_OK(FeedEvents(source, operators));
  ATTUNE_CHECK_OK(AddRanks(source, findings, range, times));
  return times.Found();
}

}  // namespace attune::analysis
