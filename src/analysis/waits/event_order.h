#pragma once
/// Waits and hand-overs of different threads in order of time.

#include <cstdint>
#include <functional>
#include <vector>

#include "model/source.h"

namespace attune::analysis {

/// Rings are read one after the other: events of one thread may come behind later ones of another. Keeps waits and
/// hand-overs until no earlier one is to be expected. @cost 40 bytes an event that is kept; to put it into order 0.1 us
class EventOrder {
 public:
  /// For so long, events of others may come that are older than those at hand.
  static constexpr int64_t kSettleNs = 200'000'000;
  static constexpr int64_t kSettleByFarNs = 2'000'000'000;
  static constexpr size_t kMaxKept = size_t{1} << 21;
  using Visitor = std::function<void(const model::Event& event)>;

  void Add(const model::EventBlock& block);
  size_t size() const { return parts_.empty() ? 0 : (parts_.size() - 1) * kPartRows + parts_.back().rows.size(); }
  /// The time of the latest event that came; INT64_MIN: none did.
  int64_t newest_ns() const { return newest_ns_; }
  /// Hands over what is before that time. Of one nanosecond a release comes before the end of the wait for it.
  void Release(int64_t before_ns, const Visitor& visit);
  /// Hands over what has settled by far, if so many are kept that it is worth it: for who can wait.
  void ReleaseMany(const Visitor& visit);
  /// Forgets the oldest, as far as they have settled by far, if so many are kept that it is worth it.
  void DropMany();
  /// Whether any hand-over has come.
  bool has_hand_overs() const { return has_hand_overs_; }
  void ReleaseAll(const Visitor& visit) { Release(INT64_MAX, visit); }

 private:
  static constexpr size_t kMany = size_t{1} << 16;
  static constexpr size_t kPartRows = size_t{1} << 12;

  /// Events as they came. Parts, so that what is kept never moves when it becomes more, and goes without a look at it.
  struct Part {
    std::vector<model::Event> rows;
    int64_t newest_ns = INT64_MIN;
  };

  void Push(const model::Event& event);
  int64_t SettledByFarNs() const;

  std::vector<Part> parts_;  ///< all of kPartRows but the last one
  bool has_hand_overs_ = false;
  int64_t newest_ns_ = INT64_MIN;
  size_t many_ = kMany;
};

}  // namespace attune::analysis
