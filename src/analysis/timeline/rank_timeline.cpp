#include "analysis/timeline/rank_timeline.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "base/saturating.h"
#include "model/table_ranges.h"

namespace attune::analysis {

using model::Collective;
using model::ElementId;
using model::Message;
using model::TimeRange;

namespace {

/// Into so many slices what came is divided, with a checkpoint after each.
constexpr int64_t kSlices = 64;
constexpr int64_t kLeastSliceNs = 100'000'000;
/// Longest time from reading a row to its match: kMessageSettleNs, and the matcher's delay in looking for that.
constexpr int64_t kMatchingNs = kMessageSettleNs + kMessageSettleNs / 2;

WaitGrid::Key LaneOf(ElementId rank, RankState state) { return {rank, static_cast<int64_t>(state)}; }

template <class Row, class Visit>
Status ReadRows(model::Source& source, TimeRange range, const Visit& visit) {
  return model::ReadTableWithin(source, Row::kTable, range, [&](const model::Batch& batch) {
    for (const Row& row : model::RowsFrom<Row>(batch)) {
      if (row.t_ns >= range.t0_ns && row.t_ns < range.t1_ns && row.rank != 0) visit(row);
    }
    return true;
  });
}

/// Messages first, then collective operations.
template <class Visit>
Status ReadBoth(model::Source& source, TimeRange range, const Visit& visit) {
  ATTUNE_CHECK_OK(ReadRows<Message>(source, range, visit));
  return ReadRows<Collective>(source, range, visit);
}

}  // namespace

// ---- reading

/// The answer to one View() call, while it is built.
struct RankTimeline::Reading final : RankSink {
  Reading(TimeRange asked, int64_t width_ns, size_t buckets, std::span<const ElementId> wanted)
      : range(asked), grid(asked.t0_ns, width_ns, buckets + 1, SIZE_MAX), ranks(wanted.begin(), wanted.end()) {}

  void Take(const RankSpan& span) override {
    if (span.t1_ns < range.t0_ns || span.t0_ns >= range.t1_ns || !ranks.contains(span.rank)) return;
    grid.Add(LaneOf(span.rank, span.state), std::max(span.t0_ns, sums_from_ns), std::min(span.t1_ns, range.t1_ns));
    if (spans.size() == kMaxSpans) is_single = false;
    if (is_single) spans.push_back(span);
  }
  void Take(const RankArrow& arrow) override {
    if (arrow.received_ns < range.t0_ns || arrow.sent_ns >= range.t1_ns) return;
    if (arrow.known_ns < sums_from_ns || (!ranks.contains(arrow.rank) && !ranks.contains(arrow.peer))) return;
    if (arrows.size() == kMaxArrows) {
      is_single = false;
      KeepLongest();
    }
    arrows.push_back(arrow);
  }
  /// Those that were waited for longest.
  void KeepLongest() {
    std::erase_if(arrows, [](const RankArrow& arrow) { return arrow.waited_ns == 0; });
    if (arrows.size() <= kMaxLongest) return;
    std::ranges::nth_element(arrows, arrows.begin() + kMaxLongest, std::greater{}, &RankArrow::waited_ns);
    arrows.resize(kMaxLongest);
  }
  model::Batch States() const;
  model::Batch Calls();
  model::Batch Arrows() const;

  const TimeRange range;
  WaitGrid grid;
  const std::unordered_set<ElementId> ranks;
  int64_t sums_from_ns = INT64_MIN;  ///< sums before this time are in the grid already
  bool is_single = true;
  std::vector<RankSpan> spans;
  std::vector<RankArrow> arrows;
};

model::Batch RankTimeline::Reading::States() const {
  return grid.States([this](WaitGrid::Key key, size_t part, float share) {
    const auto waited = [&](RankState state) { return grid.ShareOf(LaneOf(key.first, state), part); };
    const auto state = static_cast<RankState>(key.second);
    if (state == RankState::kMessages) share -= waited(RankState::kLateSender) + waited(RankState::kLateReceiver);
    if (state == RankState::kCollective) share -= waited(RankState::kCollectiveWait);
    return share;
  });
}

model::Batch RankTimeline::Reading::Calls() {
  // A span within another one comes behind it, and is drawn over it.
  std::ranges::stable_sort(
      spans, {}, [](const RankSpan& span) { return std::tuple(span.rank, span.t0_ns, -span.t1_ns, span.state); });
  model::Batch batch;
  batch.ints.resize(8);
  for (const RankSpan& span : spans) {
    AddRow(batch, {span.t0_ns, span.rank, static_cast<int64_t>(span.state), span.t1_ns - span.t0_ns, span.function,
                   span.site, span.communicator, span.sequence});
  }
  return batch;
}

model::Batch RankTimeline::Reading::Arrows() const {
  model::Batch batch;
  batch.ints.resize(9);
  for (const RankArrow& arrow : arrows) {
    AddRow(batch, {arrow.sent_ns, arrow.rank, arrow.peer, arrow.received_ns, arrow.bytes, arrow.tag, arrow.communicator,
                   arrow.site, arrow.waited_ns});
  }
  return batch;
}

// ---- the index

void RankTimeline::Index::Take(const RankSpan& span) {
  parts.grid.Add(LaneOf(span.rank, span.state), span.t0_ns, span.t1_ns);
  KeepIfLong(spans, long_ns, span, kMaxLong);
}

void RankTimeline::Index::Take(const RankArrow& arrow) { KeepIfLong(arrows, arrow_ns, arrow, kMaxLong); }

Status RankTimeline::AddSlice(TimeRange slice) {
  return ReadBoth(source_, slice, [this](const auto& row) {
    index_->parts.Count(row.t_ns);
    ++rows_since_checkpoint_;
    activity_->Add(row);
  });
}

Status RankTimeline::Update() {
  // Asked before the extent: what is complete by now is complete to its end.
  const bool growing = source_.Growing();
  const TimeRange extent = source_.Extent();
  const int64_t settled_ns = growing ? SaturatingAdd(extent.t1_ns, -kSettleNs) : extent.t1_ns;
  facts_.Learn(*source_.Meta());
  if (!index_) {
    if (settled_ns <= extent.t0_ns) return {};
    index_.emplace(extent.t0_ns);
    activity_.emplace(facts_, *index_, &checkpoints_);
    settled_ns_ = extent.t0_ns;
  }
  if (settled_ns > settled_ns_) index_->parts.grid.Reach(settled_ns);
  const int64_t slice_ns = std::max(kLeastSliceNs, SaturatingSub(settled_ns, settled_ns_) / kSlices + 1);
  while (settled_ns_ < settled_ns) {
    const int64_t next_ns = std::min(SaturatingAdd(settled_ns_, slice_ns), settled_ns);
    ATTUNE_CHECK_OK(AddSlice({settled_ns_, next_ns}));
    settled_ns_ = next_ns;
    if (rows_since_checkpoint_ > 0) checkpoints_.Add(next_ns);
    rows_since_checkpoint_ = 0;
  }
  if (!growing && !is_finished_) {
    activity_->Finish();
    is_finished_ = true;
  }
  final_ns_ = is_finished_ ? INT64_MAX : SaturatingAdd(settled_ns_, -kMatchingNs);
  return {};
}

// ---- checkpoints

template <class Row>
void RankTimeline::Checkpoints::Keep(const Row& row, int64_t until_ns, std::vector<Row> Checkpoint::* kept) {
  const auto after = std::ranges::upper_bound(all, row.t_ns, {}, &Checkpoint::t_ns);
  for (auto at = after; at != all.end() && at->t_ns <= until_ns; ++at) {
    ((*at).*kept).push_back(row);
    ++rows;
  }
  if (rows > kMaxOpen) Thin();
}

void RankTimeline::Checkpoints::Crosses(const Message& row, int64_t until_ns) {
  Keep(row, until_ns, &Checkpoint::messages);
}

void RankTimeline::Checkpoints::Crosses(const Collective& row, int64_t until_ns) {
  Keep(row, until_ns, &Checkpoint::collectives);
}

void RankTimeline::Checkpoints::Add(int64_t t_ns) {
  all.push_back({.t_ns = t_ns, .messages = {}, .collectives = {}});
  if (all.size() > kMaxCheckpoints) Thin();
}

/// Every second one goes, but for the first: ranges are then read from an earlier one.
void RankTimeline::Checkpoints::Thin() {
  std::vector<Checkpoint> rest;
  for (size_t i = 0; i < all.size(); i += 2) rest.push_back(std::move(all[i]));
  all = std::move(rest);
  rows = 0;
  for (const Checkpoint& one : all) rows += one.rows();
}

const RankTimeline::Checkpoint& RankTimeline::Checkpoints::LastBefore(int64_t t_ns) const {
  const auto after = std::ranges::upper_bound(all, t_ns, {}, &Checkpoint::t_ns);
  return after == all.begin() ? all.front() : *std::prev(after);
}

// ---- looking

Status RankTimeline::Replay(const Checkpoint& from, int64_t t1_ns, Reading& reading) const {
  RankActivity activity(facts_, reading);
  for (const Message& row : from.messages) activity.AddOpen(row);
  for (const Collective& row : from.collectives) activity.AddOpen(row);
  ATTUNE_CHECK_OK(ReadBoth(source_, {from.t_ns, t1_ns}, [&activity](const auto& row) { activity.Add(row); }));
  activity.Finish();
  return {};
}

/// Adds the final part of the range, spread evenly over each part of the index.
void RankTimeline::AddFromIndex(Reading& reading) const {
  reading.is_single = false;
  reading.sums_from_ns = std::min(reading.range.t1_ns, final_ns_);
  index_->parts.grid.AddTo(reading.grid, {reading.range.t0_ns, reading.sums_from_ns},
                           [&reading](ElementId rank) { return reading.ranks.contains(rank); });
}

/// Adds the long spans and arrows known by rows from this time on, which are not read.
void RankTimeline::AddLong(int64_t known_from_ns, Reading& reading) const {
  for (const RankSpan& span : index_->spans) {
    if (span.known_ns >= known_from_ns) reading.Take(span);
  }
  for (const RankArrow& arrow : index_->arrows) {
    if (arrow.known_ns >= known_from_ns) reading.Take(arrow);
  }
}

Result<RankTimelineView> RankTimeline::View(TimeRange range, uint32_t buckets, std::span<const ElementId> ranks) {
  ATTUNE_CHECK_OK(Update());
  const RangeParts parts(range, buckets, ranks.size(), kMaxAnswerCells);
  Reading reading(range, parts.width_ns, parts.count, ranks);
  RankTimelineView view{.width_ns = parts.width_ns};
  if (!index_) {
    ATTUNE_CHECK_OK(Replay({}, INT64_MAX, reading));
  } else {
    const Checkpoint& from = checkpoints_.LastBefore(std::min(range.t0_ns, final_ns_));
    // Rows come when what they tell of is over: those soon after the range are read, the longer ones are known.
    int64_t end_ns = SaturatingAdd(range.t1_ns, std::max(index_->long_ns, index_->arrow_ns));
    if (end_ns > final_ns_) end_ns = INT64_MAX;
    const int64_t rows = index_->parts.CountIn({from.t_ns, end_ns});
    const bool is_coarse = index_->parts.grid.width_ns() > parts.width_ns;
    view.rows = index_->parts.CountIn(range);
    if (rows <= kFewRows || (is_coarse && rows <= kMaxRead)) {
      ATTUNE_CHECK_OK(Replay(from, end_ns, reading));
      if (end_ns != INT64_MAX) AddLong(end_ns, reading);
    } else {
      for (const RankArrow& arrow : index_->arrows) {
        if (arrow.known_ns < final_ns_) reading.Take(arrow);
      }
      AddFromIndex(reading);
      // The newest rows are not in the index.
      if (range.t1_ns > final_ns_) ATTUNE_CHECK_OK(Replay(checkpoints_.LastBefore(final_ns_), INT64_MAX, reading));
    }
  }
  view.is_single = reading.is_single;
  if (view.is_single) {
    view.calls = reading.Calls();
  } else {
    reading.KeepLongest();
    view.states = reading.States();
  }
  view.arrows = reading.Arrows();
  return view;
}

}  // namespace attune::analysis
