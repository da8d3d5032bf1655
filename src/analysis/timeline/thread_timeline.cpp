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

constexpr size_t kMaxLongWaits = size_t{1} << 16;

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

// ---- reading
// ----------------------------------------------------------------------------------------------------------

ThreadTimeline::Wait ThreadTimeline::WaitOf(const model::EventBlock& block, size_t row, int64_t t0_ns) {
  return {t0_ns, block.t_ns[row], block.thread[row], block.b[row], block.object[row], block.site[row]};
}

/// The answer to one View() call, while it is built.
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
    if (is_single) hand_overs.push_back(WaitOf(block, row, 0));
  }
  void AddTraced(const model::EventBlock& block, size_t row) {
    if (!is_single || !Wants(block.thread[row])) return;
    if (const auto hold = pairing.Add(block, row)) AddHold(*hold);
  }
  void AddHold(const LockHold& hold) {
    if (hold.t1_ns >= range.t0_ns && hold.t0_ns < range.t1_ns && Wants(hold.thread)) holds.Add(hold);
  }
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
    AddRow(batch,
           {event.t1_ns, event.thread, static_cast<int64_t>(kind), event.object, event.site, length_ns, event.kind});
  };
  for (const Wait& wait : waits) add(wait, EventKind::kWait, wait.t1_ns - wait.t0_ns);
  for (const Wait& each : hand_overs) add(each, EventKind::kHandOver, 0);
  return batch;
}

model::Batch ThreadTimeline::Reading::Holds() const {
  model::Batch batch;
  batch.ints.resize(9);
  for (const LockHold& hold : holds.rows()) {
    AddRow(batch, {hold.t0_ns, hold.thread, hold.object, hold.site, hold.kind, hold.LengthNs(), hold.holds,
                   hold.held_ns, int64_t{hold.is_open}});
  }
  return batch;
}

Status ThreadTimeline::Read(model::TimeRange ends, Reading& reading) const {
  return source_.ReadEvents(ends, [this, &reading](const model::EventBlock& block) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      if (const auto t0_ns = BeginOf(block, row)) {
        reading.Add(WaitOf(block, row, *t0_ns));
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

Status ThreadTimeline::Update() {
  // Asked before the extent: what is complete by now is complete to its end.
  const bool growing = source_.Growing();
  const model::TimeRange extent = source_.Extent();
  const int64_t settled_ns = growing ? SaturatingAdd(extent.t1_ns, -kSettleNs) : extent.t1_ns;
  if (settled_ns <= std::max(settled_ns_, extent.t0_ns)) return {};
  if (!index_) index_.emplace(extent.t0_ns);
  index_->grid.Reach(settled_ns);
  ATTUNE_CHECK_OK(source_.ReadEvents({settled_ns_, settled_ns}, [&](const model::EventBlock& block) {
    for (size_t row = 0; row < block.t_ns.size(); ++row) {
      if (const auto t0_ns = BeginOf(block, row); t0_ns && block.thread[row] > 0) {
        index_->grid.Add({static_cast<ElementId>(block.thread[row]), block.b[row]}, *t0_ns, block.t_ns[row]);
        KeepIfLong(long_waits_, long_ns_, WaitOf(block, row, *t0_ns), kMaxLongWaits);
      } else if (IsHold(block.kind[row])) {
        has_trace_ = true;
        if (const auto hold = pairing_.Add(block, row)) long_holds_.Add(*hold);
      }
      index_->Count(block.t_ns[row]);
    }
    return true;
  }));
  settled_ns_ = settled_ns;
  return {};
}

int64_t ThreadTimeline::EventsIn(model::TimeRange range) const { return index_ ? index_->CountIn(range) : 0; }

/// The settled part of the range, spread evenly over each part of the index.
void ThreadTimeline::AddFromIndex(Reading& reading) const {
  if (!index_) return;
  reading.is_single = false;
  index_->grid.AddTo(reading.grid, reading.range, [&reading](ElementId thread) { return reading.Wants(thread); });
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
  const RangeParts parts(range, buckets, threads.size(), kMaxAnswerCells);
  Reading reading(range, parts.width_ns, parts.count, threads);

  // A wait is an event at its end: those that end soon after the range are read, the longer ones are known. So it is
  // with holds of a trace, which are two events each.
  const model::TimeRange ends = EndsToRead(range);
  const int64_t events = EventsIn(ends);
  const bool is_coarse = index_ && index_->grid.width_ns() > parts.width_ns;
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
  // The newest events are not in the index.
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
                    .width_ns = parts.width_ns};
  if (view.is_single) {
    view.events = reading.Events();
    view.holds = reading.Holds();
  } else {
    view.states = reading.grid.States([](WaitGrid::Key, size_t, float share) { return share; });
  }
  return view;
}

}  // namespace attune::analysis
