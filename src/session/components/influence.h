#pragma once
/// Whether a program contends for its locks as it does unobserved (`--check-influence`, docs/waits.md): for short turns
/// taking a free mutex, or all that it calls, is passed through, and how often futex is called then is compared with
/// the turns around them.

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/components/following.h"
#include "session/core/component.h"
#include "session/probes/collector.h"

namespace attune::session {

struct InfluenceFigures {
  int64_t turns = 0;  ///< that were compared; 0: none of the following is known
  double ratio = 1;   ///< calls of futex a second, recorded by passed through: the median of the turns
  double low95 = 1;   ///< the 95 % interval of that median (order statistics)
  double high95 = 1;
  double same_to_same = 1;  ///< median ratio of the recorded turns before and behind: the program's own changes
  int64_t passed_ns = 0;    ///< all turns that were passed through together: of what nothing is recorded
};

/// Decides what turn it is and what the turns say; the collector does what the turns are. A recorded turn, one that is
/// passed through and a recorded one again follow each other without a pause, so that a program that changes slowly
/// changes none of the ratio; between two such threes there is a while of irregular length, so that they do not keep
/// step with the program.
/// @thread one at a time
class InfluenceCheck : public Collector::Turns {
 public:
  /// How often the program has called futex so far.
  using Counter = std::function<Result<uint64_t>()>;

  struct Plan {
    Collector::Bypass bypass;  ///< kAll: nothing is recorded then; kMutexes: they are counted
    int64_t turn_ns;
    int64_t least_pause_ns, most_pause_ns;  ///< but for the first pause, which is five turns long
  };
  static constexpr Plan kOfMutexes{Collector::Bypass::kMutexes, 5'000'000, 150'000'000, 250'000'000};
  static constexpr Plan kOfAll{Collector::Bypass::kAll, 20'000'000, 100'000'000, 180'000'000};
  /// Turns around which fewer calls are made say nothing about a ratio; where there are fewer than half of them before
  /// one, it is left out.
  static constexpr uint64_t kLeastCalls = 30;

  InfluenceCheck(const Plan& plan, Counter counter) : plan_(plan), counter_(std::move(counter)) {}

  bool PassesAll() const { return plan_.bypass == Collector::Bypass::kAll; }
  /// Whether turns came, and all of them were left out for the level.
  bool HasOnlySkipped() const { return has_skipped_ && !has_looked_; }

  Collector::Bypass End(Level level, int64_t now_ns) override;
  int64_t Begin(int64_t now_ns) override;

  InfluenceFigures Figures() const;

 private:
  enum class Phase : uint8_t { kPause, kBefore, kPassed, kBehind };
  struct Reading {
    int64_t t_ns = 0;
    uint64_t calls = 0;
  };
  struct Turn {
    int64_t ns = 0;
    uint64_t calls = 0;
  };

  Reading Read(int64_t now_ns) const;
  void Compare();
  int64_t NextPauseNs();

  const Plan plan_;
  const Counter counter_;
  Phase phase_ = Phase::kPause;
  bool has_begun_ = false;
  bool has_skipped_ = false;
  bool has_looked_ = false;  ///< for a turn to pass through
  Reading begin_;
  std::array<Turn, 4> last_{};  ///< by phase
  std::vector<double> ratios_, same_;
  int64_t passed_ns_ = 0;
  uint32_t random_ = 1;
};

/// Rows of a recording's info about calls of futex and the comparison (model/info_keys.h).
/// @param calls of futex, all of the program's; or why they are not known
/// @param mutex_calls for mutexes alone; nullopt: they were not counted
/// @param check nullptr: nothing was to be compared
InfoRows InfluenceRows(const Result<uint64_t>& calls, const std::optional<uint64_t>& mutex_calls,
                       const InfluenceCheck* check);

/// Calls of futex in the recording, and the comparison where it is asked for.
class InfluenceComponent : public Component {
 public:
  InfluenceComponent(SessionContext& context, FollowingComponent& following)
      : context_(context), following_(following) {}

  void Totals(InfoRows& rows) override;

  /// @param collector outlives its own thread's use of them, and Totals()  @return nullptr: nothing is to be compared
  Collector::Turns* TurnsFor(Collector& collector);

 private:
  SessionContext& context_;
  FollowingComponent& following_;
  const Collector* collector_ = nullptr;  ///< source of the counts in the totals
  std::unique_ptr<InfluenceCheck> check_;
};

}  // namespace attune::session
