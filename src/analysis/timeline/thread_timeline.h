#pragma once
/// When each thread waited for what, at any resolution: what a timeline of threads is drawn from. Long ranges come from
/// an index (wait_grid.h), which has a lane for each thread and kind of waiting.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/timeline/wait_grid.h"
#include "analysis/waits/lock_holds.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct TimelineView {
  bool is_single = false;  ///< `events` has every wait; else `states` has sums
  model::Batch states;     ///< t_ns, thread, kind, wait_ns: time waited, by bucket; those without are left out
  model::Batch events;  ///< table kEvents: waits that overlap the range, and hand-overs within it; by thread, in time
  /// t_ns, thread, object, site, kind, length_ns, holds, held_ns, open: lock holds (LockHold) that overlap the range,
  /// those shorter than a bucket are merged. Filled if `is_single` and the source has a trace.
  model::Batch holds;
  bool holds_left_out = false;  ///< there are more than kMaxHolds: the range is too long
  int64_t width_ns = 0;         ///< width of a bucket; the first one begins with the range
};

/// @thread one at a time
class ThreadTimeline {
 public:
  static constexpr size_t kMaxSingle = 8000;           ///< waits, and hand-overs, that are given one by one
  static constexpr size_t kMaxHolds = 20'000;          ///< that are given
  static constexpr int64_t kFewEvents = 300'000;       ///< are always read
  static constexpr int64_t kMaxRead = 3'000'000;       ///< events that are read where the index is too coarse
  static constexpr int64_t kSettleNs = 2'000'000'000;  ///< events that are younger may still be joined by older ones
  static constexpr size_t kMaxAnswerCells = 400'000;   ///< threads by buckets; beyond it the buckets are longer

  /// @param source must outlive this
  explicit ThreadTimeline(model::Source& source) : source_(source) {}

  /// @param range at least 1 ns long @param buckets at least 1: as many parts as the range is divided into
  /// @cost what came since the last call (about 60 ns an event), and about 60 ns for each of at most kMaxRead events
  Result<TimelineView> View(model::TimeRange range, uint32_t buckets, std::span<const model::ElementId> threads);

 private:
  struct Wait {
    int64_t t0_ns, t1_ns;
    int64_t thread, kind, object, site;
    int64_t LengthNs() const { return t1_ns - t0_ns; }
  };
  struct Reading;
  static Wait WaitOf(const model::EventBlock& block, size_t row, int64_t t0_ns);

  Status Update();
  int64_t EventsIn(model::TimeRange range) const;
  Status Read(model::TimeRange ends, Reading& reading) const;
  void AddFromIndex(Reading& reading) const;
  /// Time range of the events to read, so that all that overlaps the range is there.
  model::TimeRange EndsToRead(model::TimeRange range) const;
  /// Holds that are not read, for their events lie outside of `ends`. @param before acquired before them, else within
  void AddLongHolds(model::TimeRange ends, bool before, Reading& reading) const;

  model::Source& source_;
  std::optional<TimelineIndex> index_;  ///< none before the first event; counts those of any kind
  int64_t settled_ns_ = INT64_MIN;
  std::vector<Wait> long_waits_;  ///< settled ones longer than long_ns_
  int64_t long_ns_ = 10'000'000;
  bool has_trace_ = false;
  HoldPairing pairing_;  ///< pairing of the settled events
  LongestHolds long_holds_;
};

}  // namespace attune::analysis
