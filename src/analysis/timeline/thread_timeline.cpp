#include "analysis/timeline/thread_timeline.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/saturating.h"
#include "wire/event.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using wire::EventKind;

constexpr int64_t kFirstWidthNs = 65'536;
constexpr size_t kMaxLongWaits = size_t{1} << 16;
constexpr size_t kMaxRows = size_t{1} << 20;

/// When a wait began that ended at t_ns; nothing: it is no wait.
std::optional<int64_t> BeginOf(const model::EventBlock& block, size_t row) {
  int64_t begin = 0;
  if (!wire::IsWait(block.kind[row]) || block.a[row] <= 0) return std::nullopt;
  if (__builtin_sub_overflow(block.t_ns[row], block.a[row], &begin)) return std::nullopt;
  return begin;
}

bool IsHold(int64_t kind) {
  return kind == static_cast<int64_t>(EventKind::kAcquire) || kind == static_cast<int64_t>(EventKind::kRelease);
}

}  // namespace

// ---- the grid
// ---------------------------------------------------------------------------------------------------------

WaitGrid::WaitGrid(int64_t origin_ns, int64_t width_ns, size_t most_parts, size_t most_cells)
    : origin_ns_(origin_ns),
      most_parts_(most_parts),
      most_cells_(most_cells),
      width_ns_(std::max<int64_t>(1, width_ns)) {}

void WaitGrid::Reach(int64_t t_ns) {
  int64_t after = 0;
  if (t_ns < origin_ns_) return;
  if (__builtin_sub_overflow(t_ns, origin_ns_, &after)) after = INT64_MAX;
  while (static_cast<uint64_t>(after / width_ns_) >= most_parts_) Double();
}

WaitGrid::Lane& WaitGrid::LaneOf(Key key) {
  if (last_lane_ == nullptr || key != last_key_) {
    last_lane_ = &lanes_[key];
    last_key_ = key;
  }
  return *last_lane_;
}

void WaitGrid::Add(Key key, int64_t t0_ns, int64_t t1_ns, float share) {
  int64_t length_ns = 0;
  t0_ns = std::max(t0_ns, origin_ns_);
  if (t1_ns <= t0_ns || __builtin_sub_overflow(t1_ns, origin_ns_, &length_ns)) return;
  Reach(t1_ns);
  const auto first = static_cast<size_t>((t0_ns - origin_ns_) / width_ns_);
  const auto last = static_cast<size_t>((length_ns - 1) / width_ns_);
  Lane& lane = LaneOf(key);
  if (lane.shares.empty()) lane.first = first;
  if (first < lane.first) {
    cells_ += lane.first - first;
    lane.shares.insert(lane.shares.begin(), lane.first - first, 0.0F);
    lane.first = first;
  }
  if (last >= lane.first + lane.shares.size()) {
    cells_ += last + 1 - lane.first - lane.shares.size();
    lane.shares.resize(last + 1 - lane.first);
  }
  const auto begin_of = [this](size_t at) { return origin_ns_ + static_cast<int64_t>(at) * width_ns_; };
  for (size_t at = first; at <= last; ++at) {
    const int64_t from_ns = at == first ? t0_ns : begin_of(at);
    const int64_t to_ns = at == last ? t1_ns : begin_of(at + 1);
    float& sum = lane.shares[at - lane.first];
    // The same time may be told of twice: a wait for a condition has one for its mutex inside.
    sum = std::min(1.0F, sum + share * (static_cast<float>(to_ns - from_ns) / static_cast<float>(width_ns_)));
  }
  while (cells_ > most_cells_ && width_ns_ < INT64_MAX / 4) Double();
}

void WaitGrid::Double() {
  ++doublings_;
  width_ns_ *= 2;
  cells_ = 0;
  for (auto& [key, lane] : lanes_) {
    std::vector<float> halved((lane.first + lane.shares.size() + 1) / 2 - lane.first / 2);
    for (size_t i = 0; i < lane.shares.size(); ++i) halved[(lane.first + i) / 2 - lane.first / 2] += lane.shares[i] / 2;
    lane.first /= 2;
    lane.shares = std::move(halved);
    cells_ += lane.shares.size();
  }
}

// ---- reading
// ----------------------------------------------------------------------------------------------------------

/// What becomes the answer to one question.
struct ThreadTimeline::Reading {
  Reading(model::TimeRange asked, int64_t width_ns, size_t buckets, std::span<const ElementId> wanted)
      : range(asked),
        grid(asked.t0_ns, width_ns, buckets + 1, SIZE_MAX),
        threads(wanted.begin(), wanted.end()),
        holds(width_ns, kMaxHolds) {}

  bool Wants(int64_t thread) const { return thread > 0 && threads.contains(static_cast<ElementId>(thread)); }
  void Add(const Wait& wait) {
    if (wait.t1_ns < range.t0_ns || wait.t0_ns >= range.t1_ns || !Wants(wait.thread)) return;
    grid.Add({static_cast<ElementId>(wait.thread), wait.kind}, wait.t0_ns, std::min(wait.t1_ns, range.t1_ns));
    if (is_single && waits.size() < kMaxSingle) {
      waits.push_back(wait);
    } else {
      is_single = false;
    }
  }
  void AddHandOver(const model::EventBlock& block, size_t row) {
    if (block.t_ns[row] < range.t0_ns || block.t_ns[row] >= range.t1_ns) return;
    if (hand_overs.size() == kMaxSingle) is_single = false;
    if (is_single)
      hand_overs.push_back({0, block.t_ns[row], block.thread[row], block.b[row], block.object[row], block.site[row]});
  }
  void AddTraced(const model::EventBlock& block, size_t row) {
    if (!is_single || !Wants(block.thread[row])) return;
    if (const auto hold = pairing.Add(block, row)) AddHold(*hold);
  }
  void AddHold(const LockHold& hold) {
    if (hold.t1_ns >= range.t0_ns && hold.t0_ns < range.t1_ns && Wants(hold.thread)) holds.Add(hold);
  }
  model::Batch States() const;
  model::Batch Events();
  model::Batch Holds() const;

  const model::TimeRange range;
  WaitGrid grid;
  const std::unordered_set<ElementId> threads;
  bool is_single = true;
  std::vector<Wait> waits;
  std::vector<Wait> hand_overs;
  HoldPairing pairing;
  HoldRows holds;
};

model::Batch ThreadTimeline::Reading::States() const {
  model::Batch batch;
  batch.ints.resize(4);
  for (const auto& [key, lane] : grid.lanes()) {
    for (size_t i = 0; i < lane.shares.size() && batch.rows < kMaxRows; ++i) {
      const auto wait_ns = static_cast<int64_t>(lane.shares[i] * static_cast<float>(grid.width_ns()));
      if (wait_ns == 0) continue;
      batch.ints[0].push_back(range.t0_ns + static_cast<int64_t>(lane.first + i) * grid.width_ns());
      batch.ints[1].push_back(key.first);
      batch.ints[2].push_back(key.second);
      batch.ints[3].push_back(wait_ns);
      ++batch.rows;
    }
  }
  return batch;
}

model::Batch ThreadTimeline::Reading::Events() {
  const auto by_thread = [](const Wait& a, const Wait& b) {
    return std::pair(a.thread, a.t1_ns) < std::pair(b.thread, b.t1_ns);
  };
  std::stable_sort(waits.begin(), waits.end(), by_thread);
  std::stable_sort(hand_overs.begin(), hand_overs.end(), by_thread);
  model::Batch batch;
  batch.table = model::Event::kTable;
  batch.ints.resize(7);
  const auto add = [&batch](const Wait& event, EventKind kind, int64_t length_ns) {
    size_t column = 0;
    for (const int64_t value :
         {event.t1_ns, event.thread, static_cast<int64_t>(kind), event.object, event.site, length_ns, event.kind})
      batch.ints[column++].push_back(value);
    ++batch.rows;
  };
  for (const Wait& wait : waits) add(wait, EventKind::kWait, wait.t1_ns - wait.t0_ns);
  for (const Wait& each : hand_overs) add(each, EventKind::kHandOver, 0);
  return batch;
}

model::Batch ThreadTimeline::Reading::Holds() const {
  model::Batch batch;
  batch.ints.resize(9);
  batch.rows = holds.rows().size();
  for (const LockHold& hold : holds.rows()) {
    size_t column = 0;
    for (const int64_t value : {hold.t0_ns, hold.thread, hold.object, hold.site, hold.kind, hold.LengthNs(), hold.holds,
                                hold.held_ns, int64_t{hold.is_open}})
      batch.ints[column++].push_back(value);
  }
  return batch;
}

Status ThreadTimeline::Read(model::TimeRange ends, Reading& reading) const {
  return source_.ReadEvents(ends, [this, &reading](const model::EventBlock& block) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      if (const auto t0_ns = BeginOf(block, row)) {
        reading.Add({*t0_ns, block.t_ns[row], block.thread[row], block.b[row], block.object[row], block.site[row]});
      } else if (block.kind[row] == static_cast<int64_t>(EventKind::kHandOver)) {
        reading.AddHandOver(block, row);
      } else if (has_trace_ && IsHold(block.kind[row])) {
        reading.AddTraced(block, row);
      }
    }
    return true;
  });
}

// ---- the index
// ----------------------------------------------------------------------------------------------------------

void ThreadTimeline::KeepIfLong(const Wait& wait) {
  if (wait.t1_ns - wait.t0_ns <= long_ns_) return;
  long_waits_.push_back(wait);
  while (long_waits_.size() > kMaxLongWaits) {
    long_ns_ *= 2;
    std::erase_if(long_waits_, [this](const Wait& one) { return one.t1_ns - one.t0_ns <= long_ns_; });
  }
}

Status ThreadTimeline::Update() {
  // Asked before the extent: what is complete by now is complete to its end.
  const bool growing = source_.Growing();
  const model::TimeRange extent = source_.Extent();
  const int64_t settled_ns = growing ? SaturatingAdd(extent.t1_ns, -kSettleNs) : extent.t1_ns;
  if (settled_ns <= std::max(settled_ns_, extent.t0_ns)) return {};
  if (index_.empty()) index_.emplace_back(extent.t0_ns, kFirstWidthNs, kMaxParts, kMaxCells);
  WaitGrid& index = index_.front();
  index.Reach(settled_ns);
  const auto count = [&](int64_t t_ns) {
    for (; counts_doublings_ < index.doublings(); ++counts_doublings_) {
      for (size_t i = 0; i < counts_.size(); ++i) {
        const int64_t events = std::exchange(counts_[i], 0);
        counts_[i / 2] += events;
      }
      counts_.resize((counts_.size() + 1) / 2);
    }
    int64_t after_ns = 0;
    if (__builtin_sub_overflow(t_ns, index.origin_ns(), &after_ns) || after_ns < 0) return;
    const auto part = static_cast<size_t>(after_ns / index.width_ns());
    if (part >= counts_.size()) counts_.resize(part + 1);
    ++counts_[part];
  };
  ATTUNE_CHECK_OK(source_.ReadEvents({settled_ns_, settled_ns}, [&](const model::EventBlock& block) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      if (const auto t0_ns = BeginOf(block, row); t0_ns && block.thread[row] > 0) {
        index.Add({static_cast<ElementId>(block.thread[row]), block.b[row]}, *t0_ns, block.t_ns[row]);
        KeepIfLong({*t0_ns, block.t_ns[row], block.thread[row], block.b[row], block.object[row], block.site[row]});
      } else if (IsHold(block.kind[row])) {
        has_trace_ = true;
        if (const auto hold = pairing_.Add(block, row)) long_holds_.Add(*hold);
      }
      count(block.t_ns[row]);
    }
    return true;
  }));
  settled_ns_ = settled_ns;
  return {};
}

int64_t ThreadTimeline::EventsIn(model::TimeRange range) const {
  if (index_.empty()) return 0;
  const WaitGrid& index = index_.front();
  int64_t events = 0;
  const int64_t width_ns = index.width_ns() >> (index.doublings() - counts_doublings_);
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t t0_ns = index.origin_ns() + static_cast<int64_t>(i) * width_ns;
    if (t0_ns < range.t1_ns && SaturatingAdd(t0_ns, width_ns) > range.t0_ns) events += counts_[i];
  }
  return events;
}

/// The settled part of the range, spread evenly over each part of the index.
void ThreadTimeline::AddFromIndex(Reading& reading) const {
  if (index_.empty()) return;
  const WaitGrid& index = index_.front();
  reading.is_single = false;
  const int64_t width_ns = index.width_ns();
  const int64_t skipped_ns = std::max<int64_t>(0, SaturatingAdd(reading.range.t0_ns, -index.origin_ns()));
  for (const auto& [key, lane] : index.lanes()) {
    if (!reading.Wants(key.first)) continue;
    const auto begin = static_cast<size_t>(skipped_ns / width_ns);
    for (size_t i = begin > lane.first ? begin - lane.first : 0; i < lane.shares.size(); ++i) {
      const int64_t t0_ns = index.origin_ns() + static_cast<int64_t>(lane.first + i) * width_ns;
      if (t0_ns >= reading.range.t1_ns) break;
      if (lane.shares[i] > 0)
        reading.grid.Add(key, t0_ns, std::min(SaturatingAdd(t0_ns, width_ns), reading.range.t1_ns), lane.shares[i]);
    }
  }
}

/// The longer ones of those that are not read are known, but for what a flight recorder told late: so it is read as
/// much before the range as costs little.
model::TimeRange ThreadTimeline::EndsToRead(model::TimeRange range) const {
  const int64_t least_ns = long_holds_.least_ns();
  const int64_t t1_ns =
      std::min(SaturatingAdd(range.t1_ns, std::max(long_ns_, least_ns)), std::max(settled_ns_, range.t0_ns));
  if (!has_trace_) return {range.t0_ns, t1_ns};
  int64_t before_ns = std::max(long_ns_, least_ns);
  while (before_ns > least_ns && EventsIn({SaturatingAdd(range.t0_ns, -before_ns), t1_ns}) > kFewEvents)
    before_ns = std::max(before_ns / 4, least_ns);
  return {SaturatingAdd(range.t0_ns, -before_ns), t1_ns};
}

void ThreadTimeline::AddLongHolds(model::TimeRange ends, bool before, Reading& reading) const {
  for (const LockHold& hold : long_holds_.holds()) {
    if (before ? hold.t0_ns < ends.t0_ns : hold.t0_ns >= ends.t0_ns && hold.t1_ns >= ends.t1_ns) reading.AddHold(hold);
  }
}

Result<TimelineView> ThreadTimeline::View(model::TimeRange range, uint32_t buckets,
                                          std::span<const ElementId> threads) {
  ATTUNE_CHECK_OK(Update());
  const auto most = static_cast<uint32_t>(std::max<size_t>(1, kMaxAnswerCells / std::max<size_t>(1, threads.size())));
  buckets = std::clamp<uint32_t>(buckets, 1, most);
  const int64_t length_ns = SaturatingAdd(range.t1_ns, -range.t0_ns);
  const int64_t width_ns = std::max<int64_t>(1, length_ns / buckets + (length_ns % buckets != 0 ? 1 : 0));
  Reading reading(range, width_ns, buckets, threads);

  // A wait is an event at its end: those that end soon after the range are read, the longer ones are known. So it is
  // with holds of a trace, which are two events each.
  const model::TimeRange ends = EndsToRead(range);
  const int64_t events = EventsIn(ends);
  const bool is_coarse = !index_.empty() && index_.front().width_ns() > width_ns;
  if (events <= kFewEvents || (is_coarse && events <= kMaxRead)) {
    AddLongHolds(ends, /*before=*/true, reading);
    ATTUNE_CHECK_OK(Read(ends, reading));
    for (const Wait& wait : long_waits_) {
      if (wait.t1_ns >= ends.t1_ns) reading.Add(wait);
    }
    AddLongHolds(ends, /*before=*/false, reading);
  } else {
    AddFromIndex(reading);
  }
  // What came last is in no index.
  reading.pairing = pairing_;
  const int64_t last_ns = has_trace_ ? settled_ns_ : std::max(settled_ns_, range.t0_ns);
  ATTUNE_CHECK_OK(Read({last_ns, INT64_MAX}, reading));
  for (LockHold hold : reading.pairing.Open()) {
    hold.t1_ns = std::max(hold.t0_ns, source_.Extent().t1_ns);
    hold.held_ns = hold.LengthNs();
    hold.is_open = true;
    reading.AddHold(hold);
  }

  TimelineView view{.is_single = reading.is_single,
                    .states = {},
                    .events = {},
                    .holds = {},
                    .holds_left_out = reading.is_single && reading.holds.is_full(),
                    .width_ns = width_ns};
  if (view.is_single) {
    view.events = reading.Events();
    view.holds = reading.Holds();
  } else {
    view.states = reading.States();
  }
  return view;
}

}  // namespace attune::analysis
