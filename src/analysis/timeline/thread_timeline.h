#pragma once
/// When each thread waited for what, at any resolution: what a timeline of threads is drawn from.
///
/// Looking at the whole of ten million waits must not read them each time. They are read once, in order of time as they
/// come, and added to an index in memory: of each thread and kind of waiting the share of each part of the time, at
/// most kMaxCells in all. The index answers ranges that are long; short ones, of which there are few events, are read
/// from the source, which knows where they lie.

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/waits/lock_holds.h"
#include "base/result.h"
#include "model/source.h"

namespace attune::analysis {

struct TimelineView {
  bool is_single = false;  ///< `events` has every wait; else `states` has sums
  model::Batch states;     ///< t_ns, thread, kind, wait_ns: time waited, by bucket; those without are left out
  model::Batch events;  ///< table kEvents: waits that overlap the range, and hand-overs within it; by thread, in time
  /// Where `is_single`, and the source has a trace: t_ns, thread, object, site, kind, length_ns, holds, held_ns, open.
  /// Who had which lock (LockHold), as far as it overlaps the range; those shorter than a bucket together.
  model::Batch holds;
  bool holds_left_out = false;  ///< there are more than kMaxHolds: the range is too long
  int64_t width_ns = 0;         ///< of a bucket; the first one begins with the range
};

/// Time waited, by (thread, kind of waiting) and part of the time. Parts are of one length, which doubles when there
/// would be too many of them.
class WaitGrid {
 public:
  using Key = std::pair<model::ElementId, int64_t>;  // thread, wire::SyncKind
  /// Shares of the parts from `first` on, 0 to 1.
  struct Lane {
    size_t first = 0;
    std::vector<float> shares;
  };

  /// @param most_parts, most_cells beyond it the parts double
  WaitGrid(int64_t origin_ns, int64_t width_ns, size_t most_parts, size_t most_cells);

  /// @param share of this time that was waited; what was before the origin is left out
  void Add(Key key, int64_t t0_ns, int64_t t1_ns, float share = 1);
  /// Makes room for events at this time.
  void Reach(int64_t t_ns);
  const std::map<Key, Lane>& lanes() const { return lanes_; }
  int64_t origin_ns() const { return origin_ns_; }
  int64_t width_ns() const { return width_ns_; }
  /// Number of times that the width doubled.
  int doublings() const { return doublings_; }

 private:
  void Double();
  Lane& LaneOf(Key key);

  const int64_t origin_ns_;
  const size_t most_parts_;
  const size_t most_cells_;
  int64_t width_ns_;
  size_t cells_ = 0;
  int doublings_ = 0;
  std::map<Key, Lane> lanes_;
  Key last_key_{};  ///< events of a thread mostly come one after the other
  Lane* last_lane_ = nullptr;
};

/// @thread one at a time
class ThreadTimeline {
 public:
  static constexpr size_t kMaxCells = size_t{1} << 22;  ///< of the index: 16 MiB
  static constexpr size_t kMaxParts = size_t{1} << 15;  ///< of the time, in the index
  static constexpr size_t kMaxSingle = 8000;            ///< waits, and hand-overs, that are given one by one
  static constexpr size_t kMaxHolds = 20'000;           ///< that are given
  static constexpr int64_t kFewEvents = 300'000;        ///< are always read
  static constexpr int64_t kMaxRead = 3'000'000;        ///< events that are read where the index is too coarse
  static constexpr int64_t kSettleNs = 2'000'000'000;   ///< events that are younger may still be joined by older ones
  static constexpr size_t kMaxAnswerCells = 400'000;    ///< threads by buckets; beyond it the buckets are longer

  /// @param source must outlive this
  explicit ThreadTimeline(model::Source& source) : source_(source) {}

  /// @param range at least 1 ns long @param buckets at least 1: as many parts as the range is divided into
  /// @cost what came since the last call (about 60 ns an event), and about 60 ns for each of at most kMaxRead events
  Result<TimelineView> View(model::TimeRange range, uint32_t buckets, std::span<const model::ElementId> threads);

 private:
  struct Wait {
    int64_t t0_ns, t1_ns;
    int64_t thread, kind, object, site;
  };
  struct Reading;

  Status Update();
  int64_t EventsIn(model::TimeRange range) const;
  void KeepIfLong(const Wait& wait);
  Status Read(model::TimeRange ends, Reading& reading) const;
  void AddFromIndex(Reading& reading) const;
  /// Of which time events are read, so that all that overlaps the range is there.
  model::TimeRange EndsToRead(model::TimeRange range) const;
  /// Holds that are not read, for their events lie outside of `ends`. @param before acquired before them, else within
  void AddLongHolds(model::TimeRange ends, bool before, Reading& reading) const;

  model::Source& source_;
  std::vector<int64_t> counts_;  ///< events of any kind, by part of the index
  int counts_doublings_ = 0;
  std::vector<WaitGrid> index_;  ///< one, or none before the first event
  int64_t settled_ns_ = INT64_MIN;
  std::vector<Wait> long_waits_;  ///< settled ones longer than long_ns_
  int64_t long_ns_ = 10'000'000;
  bool has_trace_ = false;
  HoldPairing pairing_;  ///< of what is settled
  LongestHolds long_holds_;
};

}  // namespace attune::analysis
