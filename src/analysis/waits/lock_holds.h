#pragma once
/// Lock holds by thread, lock and time: from a trace's acquisitions and releases (docs/trace.md).

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "model/source.h"

namespace attune::analysis {

/// A thread had a lock; or it had it several times, too close to each other to be told apart.
struct LockHold {
  int64_t t0_ns = 0;
  int64_t t1_ns = 0;
  int64_t thread = 0;
  int64_t object = 0;
  int64_t site = 0;  ///< call site of the acquisition; 0: not known, or several sites
  int64_t kind = 0;  ///< wire::SyncKind
  int64_t holds = 1;
  int64_t held_ns = 0;   ///< hold time of all `holds`; less than from t0 to t1 where there are several
  bool is_open = false;  ///< no release was recorded

  int64_t LengthNs() const;
};

/// Puts releases to their acquisitions, event by event, in order of time. @thread one at a time
class HoldPairing {
 public:
  static constexpr size_t kMaxNested = 64;  ///< holds of one lock by one thread; beyond it the oldest are forgotten

  /// @return the hold that this event ends; nothing: it ends none whose acquisition is known. Semaphores are not held.
  std::optional<LockHold> Add(const model::EventBlock& block, size_t row);
  /// Goes on from one that was acquired and not released before. @param hold from Open()
  void Reopen(const LockHold& hold);
  /// Holds that were acquired and not released; ends are not set.
  std::vector<LockHold> Open() const;

 private:
  std::map<std::pair<int64_t, int64_t>, std::vector<LockHold>> open_;  ///< by thread and lock, the innermost last
};

/// The longest of many holds: all that are longer than `least_ns`, which grows with their number.
class LongestHolds {
 public:
  static constexpr size_t kMost = size_t{1} << 16;

  void Add(const LockHold& hold);
  int64_t least_ns() const { return least_ns_; }
  const std::vector<LockHold>& holds() const { return holds_; }

 private:
  int64_t least_ns_ = 1000;
  std::vector<LockHold> holds_;
};

/// Holds as they are drawn: those of a thread and lock that are shorter than `width_ns`, and follow each other as
/// closely, become one.
class HoldRows {
 public:
  HoldRows(int64_t width_ns, size_t most) : width_ns_(width_ns), most_(most) {}

  /// @param hold of a thread and lock later than those before
  void Add(const LockHold& hold);
  /// There were more than `most`: they are left out, all of them.
  bool is_full() const { return is_full_; }
  const std::vector<LockHold>& rows() const { return rows_; }

 private:
  const int64_t width_ns_;
  const size_t most_;
  bool is_full_ = false;
  std::vector<LockHold> rows_;
  std::map<std::pair<int64_t, int64_t>, size_t> last_;  ///< last row of each thread and lock
};

}  // namespace attune::analysis
