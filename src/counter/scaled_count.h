#pragma once
/// Counts of events that share the counters of a CPU by turns.

#include <cstdint>

namespace attune::counter {

/// The count of a multiplexed event, scaled to the whole time. Never falls.
class ScaledCount {
 public:
  /// As the kernel gives it: the count, and for how long it was to be counted and was.
  struct Reading {
    uint64_t value = 0;
    uint64_t enabled_ns = 0;
    uint64_t running_ns = 0;
  };
  /// Adds the growth since the last reading, divided by the share of the time in which the event was counted.
  /// @return false: it was not counted at all meanwhile; the time is made up for by the next reading
  bool Add(const Reading& now);
  /// The same of a thread's event on one kind of cores. @param whole TimeOfKinds::Whole()
  bool AddOfKind(Reading now, double whole);
  int64_t total() const { return total_; }
  /// The reading that was added last.
  const Reading& last() const { return last_; }
  /// Counted share of the time at the last reading, in tenths of a percent.
  int64_t share_permille() const { return share_permille_; }
  /// By how much the total may be off, either way, in 19 of 20 cases: 0 where the event was counted all the time. Known
  /// from the third reading on, which tells how much the event's rate changes from one reading to the next.
  double Bound() const;
  /// Whether it was counted at all, and for how much of the time in all. Where nothing ran that could be counted, 0 is
  /// the count.
  bool is_known() const { return last_.running_ns > 0 || is_idle_; }
  double share() const;

 private:
  void AddError(double rate, uint64_t unseen_ns);

  Reading last_;
  bool is_idle_ = false;  ///< nothing has run yet
  int64_t total_ = 0;
  int64_t share_permille_ = 0;
  double last_rate_ = -1;       ///< events a nanosecond that was counted; below 0: there is none
  double first_unseen_ns_ = 0;  ///< of the first reading, whose error the second one tells
  double error_squares_ = 0;    ///< sum over the readings
};

/// The time of a thread's event that is counted on each kind of cores by a counter of its own. One kind's is not
/// counted while the thread is on another kind, and the kernel tells that as if it had waited for a counter.
class TimeOfKinds {
 public:
  /// The reading of each kind's, one after the other.
  void Add(const ScaledCount::Reading& now);
  /// Time by counted time, of all kinds together. 0: nothing was counted of some time
  double Whole() const;

 private:
  uint64_t kinds_ = 0, enabled_ns_ = 0, running_ns_ = 0;  ///< sums
  uint64_t first_ns_ = UINT64_MAX, last_ns_ = 0;          ///< of the enabled times, which differ by when they were read
};

}  // namespace attune::counter
