#pragma once
/// Whether a program contends for its locks as it does unobserved: for short turns taking a free mutex, or all that it
/// calls, is passed through, and how often futex is called then is compared with the turns around them (docs/waits.md).

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attune::session {

/// What is compared with passing it through.
enum class InfluenceChoice : uint8_t {
  kNone,
  kMutexes,   ///< InfluenceCheck::kOfMutexes
  kAllCalls,  ///< InfluenceCheck::kOfAll; where the kernel counts no calls of futex, the former
};

struct InfluenceFigures {
  int64_t turns = 0;  ///< that were compared; 0: none of the following is known
  double ratio = 1;   ///< calls of futex a second, recorded by passed through: the median of the turns
  double low95 = 1;   ///< the 95 % interval of that median (order statistics)
  double high95 = 1;
  double same_to_same = 1;  ///< of the recorded turns before and behind: what the program's own changes give
  int64_t passed_ns = 0;    ///< all turns that were passed through together: of what nothing is recorded
};

/// Decides what turn it is and what the turns say; who asks it does what the turns are. A recorded turn, one that is
/// passed through and a recorded one again follow each other without a pause, so that a program that changes slowly
/// changes none of the ratio; between two such threes there is a while of irregular length, so that they do not keep
/// step with the program.
/// @thread one at a time
class InfluenceCheck {
 public:
  /// How often the program has called futex so far.
  using Counter = std::function<Result<uint64_t>()>;

  struct Turns {
    bool pass_all;  ///< all calls, of which nothing is recorded then; else free mutexes, which are only counted
    int64_t turn_ns;
    int64_t least_pause_ns, most_pause_ns;  ///< but for the first pause, which is five turns long
  };
  static constexpr Turns kOfMutexes{false, 5'000'000, 150'000'000, 250'000'000};
  static constexpr Turns kOfAll{true, 20'000'000, 100'000'000, 180'000'000};
  /// Turns around which fewer calls are made say nothing about a ratio; where there are fewer than half of them before
  /// one, it is left out.
  static constexpr uint64_t kLeastCalls = 30;

  InfluenceCheck(const Turns& turns, Counter counter) : turns_(turns), counter_(std::move(counter)) {}

  bool PassesAll() const { return turns_.pass_all; }
  /// Whether turns came, and all of them were skipped.
  bool HasOnlySkipped() const { return has_skipped_ && !has_looked_; }
  /// Whether calls are to be passed through now.
  bool Passes() const { return phase_ == Phase::kPassed; }
  /// When the turn is over. 0: none has begun.
  int64_t EndNs() const { return end_ns_; }
  /// When it began.
  int64_t BeginNs() const { return begin_.t_ns; }
  /// The turn is over: Passes() is about the next one, which is to be told when it begins.
  void End(int64_t now_ns);
  void Begin(int64_t now_ns);
  /// The turns that were begun are not compared: a pause begins.
  void Skip(int64_t now_ns);

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

  const Turns turns_;
  const Counter counter_;
  Phase phase_ = Phase::kPause;
  bool has_skipped_ = false;
  bool has_looked_ = false;  ///< for a turn to pass through
  int64_t end_ns_ = 0;
  Reading begin_;
  std::array<Turn, 4> last_{};  ///< by phase
  std::vector<double> ratios_, same_;
  int64_t passed_ns_ = 0;
  uint32_t random_ = 1;
};

/// What a recording says about it (model/info_keys.h).
/// @param calls of futex, all of the program's; or why they are not known
/// @param mutex_calls for mutexes alone; nullopt: they were not counted
/// @param check nullptr: nothing was to be compared
std::vector<std::pair<std::string, std::string>> InfluenceRows(const Result<uint64_t>& calls,
                                                               const std::optional<uint64_t>& mutex_calls,
                                                               const InfluenceCheck* check);

}  // namespace attune::session
