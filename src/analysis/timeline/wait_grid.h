#pragma once
/// The parts of timelines (thread_timeline.h, rank_timeline.h): sums by part of the time, and an index of all rows.
///
/// Looking at the whole of ten million rows must not read them each time. They are read once, in order of time as they
/// come, and added to an index in memory: of each lane the share of each part of the time, at most kMaxCells in all.
/// The index answers ranges that are long; short ones, of which there are few rows, are read from the source, which
/// knows where they lie.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "model/source.h"

namespace attune::analysis {

/// Time waited, or spent in a state, by lane and part of the time. Parts are of one length, which doubles when there
/// would be too many of them.
class WaitGrid {
 public:
  using Key = std::pair<model::ElementId, int64_t>;  // thread or rank, wire::SyncKind or RankState
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
  /// Adds what there is of a range to another grid, spread evenly over each part of this one. @param wants an element
  void AddTo(WaitGrid& other, model::TimeRange range, const std::function<bool(model::ElementId)>& wants) const;
  /// t_ns, element, kind, length_ns of all parts that have some. @param share_of a part of a lane, its own at first
  model::Batch States(const std::function<float(Key, size_t, float)>& share_of) const;
  /// 0: it has none.
  float ShareOf(Key key, size_t part) const;

  const std::map<Key, Lane>& lanes() const { return lanes_; }
  int64_t origin_ns() const { return origin_ns_; }
  int64_t width_ns() const { return width_ns_; }
  /// Number of times that the width doubled.
  int doublings() const { return doublings_; }

 private:
  void Double();
  Lane& LaneOf(Key key);
  int64_t BeginOf(size_t part) const { return origin_ns_ + static_cast<int64_t>(part) * width_ns_; }

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

/// A grid of everything, and how many rows there are in each of its parts.
class TimelineIndex {
 public:
  static constexpr size_t kMaxCells = size_t{1} << 22;  ///< 16 MiB
  static constexpr size_t kMaxParts = size_t{1} << 15;  ///< parts of the time

  explicit TimelineIndex(int64_t origin_ns);

  void Count(int64_t t_ns);
  /// About so many: parts that overlap the range count as a whole.
  int64_t CountIn(model::TimeRange range) const;

  WaitGrid grid;

 private:
  std::vector<int64_t> counts_;
  int doublings_ = 0;  ///< grid.doublings() that the width of counts_ stands for
};

/// How an answer divides a range.
struct RangeParts {
  /// @param most_cells rows by parts; beyond it the parts are longer
  RangeParts(model::TimeRange range, uint32_t wanted, size_t rows, size_t most_cells);

  uint32_t count;
  int64_t width_ns;
};

/// @param batch has as many columns of integers
void AddRow(model::Batch& batch, std::initializer_list<int64_t> values);

/// Keeps what is longer than `least_ns`, which grows where there is too much of it.
template <class Item>
void KeepIfLong(std::vector<Item>& kept, int64_t& least_ns, const Item& item, size_t most) {
  if (item.LengthNs() <= least_ns) return;
  kept.push_back(item);
  while (kept.size() > most) {
    least_ns *= 2;
    std::erase_if(kept, [least_ns](const Item& one) { return one.LengthNs() <= least_ns; });
  }
}

}  // namespace attune::analysis
