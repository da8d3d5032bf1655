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
using model::Table;
using model::TimeRange;

namespace {

constexpr int64_t kFirstWidthNs = 65'536;
/// Into so many slices what came is divided, with a checkpoint after each.
constexpr int64_t kSlices = 64;
constexpr int64_t kLeastSliceNs = 100'000'000;
/// What may be matched later than it is read (kMessageSettleNs), and when that is looked for.
constexpr int64_t kMatchingNs = kMessageSettleNs + kMessageSettleNs / 2;
constexpr size_t kMaxRows = size_t{1} << 20;

int64_t LengthOf(const RankSpan& span) { return SaturatingSub(span.t1_ns, span.t0_ns); }
/// Messages are looked for by how long they are on screen, and shown by how long they were waited for.
int64_t LengthOf(const RankArrow& arrow) {
  return std::max(SaturatingSub(arrow.known_ns, arrow.sent_ns), SaturatingSub(arrow.received_ns, arrow.sent_ns));
}

/// Keeps what is longer than `least_ns`, which grows where there is too much of it.
template <class Item>
void KeepIfLong(std::vector<Item>& kept, int64_t& least_ns, const Item& item, size_t most) {
  if (LengthOf(item) <= least_ns) return;
  kept.push_back(item);
  while (kept.size() > most) {
    least_ns *= 2;
    std::erase_if(kept, [least_ns](const Item& one) { return LengthOf(one) <= least_ns; });
  }
}

WaitGrid::Key LaneOf(ElementId rank, RankState state) { return {rank, static_cast<int64_t>(state)}; }

template <class Row>
Status ReadRows(model::Source& source, Table table, TimeRange range, std::vector<Row> (*from)(const model::Batch&),
                const std::function<void(const Row&)>& visit) {
  return model::ReadTableWithin(source, table, range, [&](const model::Batch& batch) {
    for (const Row& row : from(batch)) {
      if (row.t_ns >= range.t0_ns && row.t_ns < range.t1_ns && row.rank != 0) visit(row);
    }
    return true;
  });
}

}  // namespace

// ---- reading

/// What becomes the answer to one question.
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
  int64_t sums_from_ns = INT64_MIN;  ///< what was before is there already
  bool is_single = true;
  std::vector<RankSpan> spans;
  std::vector<RankArrow> arrows;
};

model::Batch RankTimeline::Reading::States() const {
  model::Batch batch;
  batch.ints.resize(4);
  const auto share = [this](ElementId rank, RankState state, size_t part) {
    const auto lane = grid.lanes().find(LaneOf(rank, state));
    if (lane == grid.lanes().end() || part < lane->second.first) return 0.0F;
    const size_t at = part - lane->second.first;
    return at < lane->second.shares.size() ? lane->second.shares[at] : 0.0F;
  };
  for (const auto& [key, lane] : grid.lanes()) {
    const auto state = static_cast<RankState>(key.second);
    for (size_t i = 0; i < lane.shares.size() && batch.rows < kMaxRows; ++i) {
      float of_it = lane.shares[i];
      const size_t part = lane.first + i;
      if (state == RankState::kMessages)
        of_it -= share(key.first, RankState::kLateSender, part) + share(key.first, RankState::kLateReceiver, part);
      if (state == RankState::kCollective) of_it -= share(key.first, RankState::kCollectiveWait, part);
      const auto length_ns = static_cast<int64_t>(of_it * static_cast<float>(grid.width_ns()));
      if (length_ns <= 0) continue;
      batch.ints[0].push_back(range.t0_ns + static_cast<int64_t>(part) * grid.width_ns());
      batch.ints[1].push_back(key.first);
      batch.ints[2].push_back(key.second);
      batch.ints[3].push_back(length_ns);
      ++batch.rows;
    }
  }
  return batch;
}

model::Batch RankTimeline::Reading::Calls() {
  // What lies within another one comes behind it, and is drawn over it.
  std::ranges::stable_sort(
      spans, {}, [](const RankSpan& span) { return std::tuple(span.rank, span.t0_ns, -span.t1_ns, span.state); });
  model::Batch batch;
  batch.ints.resize(8);
  batch.rows = spans.size();
  for (const RankSpan& span : spans) {
    size_t column = 0;
    for (const int64_t value :
         {span.t0_ns, int64_t{span.rank}, static_cast<int64_t>(span.state), span.t1_ns - span.t0_ns,
          int64_t{span.function}, int64_t{span.site}, int64_t{span.communicator}, span.sequence})
      batch.ints[column++].push_back(value);
  }
  return batch;
}

model::Batch RankTimeline::Reading::Arrows() const {
  model::Batch batch;
  batch.ints.resize(9);
  batch.rows = arrows.size();
  for (const RankArrow& arrow : arrows) {
    size_t column = 0;
    for (const int64_t value : {arrow.sent_ns, int64_t{arrow.rank}, int64_t{arrow.peer}, arrow.received_ns, arrow.bytes,
                                arrow.tag, int64_t{arrow.communicator}, int64_t{arrow.site}, arrow.waited_ns})
      batch.ints[column++].push_back(value);
  }
  return batch;
}

// ---- the index

RankTimeline::Index::Index(int64_t origin_ns) : grid(origin_ns, kFirstWidthNs, kMaxParts, kMaxCells) {}

void RankTimeline::Index::Take(const RankSpan& span) {
  grid.Add(LaneOf(span.rank, span.state), span.t0_ns, span.t1_ns);
  KeepIfLong(spans, long_ns, span, kMaxLong);
}

void RankTimeline::Index::Take(const RankArrow& arrow) { KeepIfLong(arrows, arrow_ns, arrow, kMaxLong); }

void RankTimeline::Count(int64_t t_ns) {
  const WaitGrid& grid = index_->grid;
  for (; counts_doublings_ < grid.doublings(); ++counts_doublings_) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      const int64_t rows = std::exchange(counts_[i], 0);
      counts_[i / 2] += rows;
    }
    counts_.resize((counts_.size() + 1) / 2);
  }
  int64_t after_ns = 0;
  if (__builtin_sub_overflow(t_ns, grid.origin_ns(), &after_ns) || after_ns < 0) return;
  const auto part = static_cast<size_t>(after_ns / grid.width_ns());
  if (part >= counts_.size()) counts_.resize(part + 1);
  ++counts_[part];
}

int64_t RankTimeline::RowsIn(TimeRange range) const {
  if (!index_) return 0;
  const WaitGrid& grid = index_->grid;
  const int64_t width_ns = grid.width_ns() >> (grid.doublings() - counts_doublings_);
  int64_t rows = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t t0_ns = grid.origin_ns() + static_cast<int64_t>(i) * width_ns;
    if (t0_ns < range.t1_ns && SaturatingAdd(t0_ns, width_ns) > range.t0_ns) rows += counts_[i];
  }
  return rows;
}

Status RankTimeline::AddSlice(TimeRange slice) {
  ATTUNE_CHECK_OK(ReadRows<Message>(source_, model::Message::kTable, slice, model::RowsFrom<model::Message>,
                                    [&](const Message& row) {
                                      Count(row.t_ns);
                                      ++rows_since_checkpoint_;
                                      activity_->Add(row);
                                    }));
  return ReadRows<Collective>(source_, model::Collective::kTable, slice, model::RowsFrom<model::Collective>,
                              [&](const Collective& row) {
                                Count(row.t_ns);
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
  if (settled_ns > settled_ns_) index_->grid.Reach(settled_ns);
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
  const TimeRange rows{from.t_ns, t1_ns};
  ATTUNE_CHECK_OK(ReadRows<Message>(source_, model::Message::kTable, rows, model::RowsFrom<model::Message>,
                                    [&activity](const Message& row) { activity.Add(row); }));
  ATTUNE_CHECK_OK(ReadRows<Collective>(source_, model::Collective::kTable, rows, model::RowsFrom<model::Collective>,
                                       [&activity](const Collective& row) { activity.Add(row); }));
  activity.Finish();
  return {};
}

/// What is final of the range, spread evenly over each part of the index.
void RankTimeline::AddFromIndex(Reading& reading) const {
  const WaitGrid& grid = index_->grid;
  reading.is_single = false;
  const int64_t width_ns = grid.width_ns(), end_ns = std::min(reading.range.t1_ns, final_ns_);
  const int64_t skipped_ns = std::max<int64_t>(0, SaturatingSub(reading.range.t0_ns, grid.origin_ns()));
  for (const auto& [key, lane] : grid.lanes()) {
    if (!reading.ranks.contains(key.first)) continue;
    const auto begin = static_cast<size_t>(skipped_ns / width_ns);
    for (size_t i = begin > lane.first ? begin - lane.first : 0; i < lane.shares.size(); ++i) {
      const int64_t t0_ns = grid.origin_ns() + static_cast<int64_t>(lane.first + i) * width_ns;
      if (t0_ns >= end_ns) break;
      if (lane.shares[i] > 0)
        reading.grid.Add(key, t0_ns, std::min(SaturatingAdd(t0_ns, width_ns), end_ns), lane.shares[i]);
    }
  }
  reading.sums_from_ns = end_ns;
}

/// What is known of rows from this time on, which are not read.
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
  const auto most = static_cast<uint32_t>(std::max<size_t>(1, kMaxAnswerCells / std::max<size_t>(1, ranks.size())));
  buckets = std::clamp<uint32_t>(buckets, 1, most);
  const int64_t length_ns = SaturatingSub(range.t1_ns, range.t0_ns);
  const int64_t width_ns = std::max<int64_t>(1, length_ns / buckets + (length_ns % buckets != 0 ? 1 : 0));
  Reading reading(range, width_ns, buckets, ranks);
  RankTimelineView view{.width_ns = width_ns};
  if (!index_) {
    ATTUNE_CHECK_OK(Replay({}, INT64_MAX, reading));
  } else {
    const Checkpoint& from = checkpoints_.LastBefore(std::min(range.t0_ns, final_ns_));
    // Rows come when what they tell of is over: those soon after the range are read, the longer ones are known.
    int64_t end_ns = SaturatingAdd(range.t1_ns, std::max(index_->long_ns, index_->arrow_ns));
    if (end_ns > final_ns_) end_ns = INT64_MAX;
    const int64_t rows = RowsIn({from.t_ns, end_ns});
    const bool is_coarse = index_->grid.width_ns() > width_ns;
    view.rows = RowsIn(range);
    if (rows <= kFewRows || (is_coarse && rows <= kMaxRead)) {
      ATTUNE_CHECK_OK(Replay(from, end_ns, reading));
      if (end_ns != INT64_MAX) AddLong(end_ns, reading);
    } else {
      for (const RankArrow& arrow : index_->arrows) {
        if (arrow.known_ns < final_ns_) reading.Take(arrow);
      }
      AddFromIndex(reading);
      // What came last is in no index.
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
