#pragma once
/// Measures perturbation: whether a program contends for its locks as it does unobserved. In short measurement windows
/// ("turns") free mutexes, or all calls, bypass the probe; the rate of futex calls is compared with that of the
/// recorded windows before and after (docs/waits.md).

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace attune::session {

/// The calls that bypass the probe for the comparison.
enum class InfluenceChoice : uint8_t {
  kNone,
  kMutexes,   ///< InfluenceCheck::kOfMutexes
  kAllCalls,  ///< InfluenceCheck::kOfAll; kOfMutexes if the kernel cannot count futex calls
};

struct InfluenceFigures {
  int64_t turns = 0;  ///< compared windows; 0: none of the following is known
  double ratio = 1;   ///< futex calls a second, recorded / bypassed: the median of the windows
  double low95 = 1;   ///< the 95 % interval of that median (order statistics)
  double high95 = 1;
  double same_to_same = 1;  ///< ratio of the recorded windows before and after: the program's own changes
  int64_t passed_ns = 0;    ///< total length of the bypassed windows
};

/// Schedules the windows and computes the figures; the caller switches the probes. A recorded window, a bypassed one
/// and a recorded one follow each other without a pause, so that slow changes of the program cancel in the ratio.
/// Pauses between such groups have random lengths, so that they are not in step with the program.
/// @thread one at a time
class InfluenceCheck {
 public:
  /// Returns the number of futex calls of the program so far.
  using Counter = std::function<Result<uint64_t>()>;

  struct Turns {
    bool pass_all;  ///< bypass: all calls, without any record; else free mutexes, which are only counted
    int64_t turn_ns;
    int64_t least_pause_ns, most_pause_ns;  ///< except the first pause, which is five windows long
  };
  static constexpr Turns kOfMutexes{false, 5'000'000, 150'000'000, 250'000'000};
  static constexpr Turns kOfAll{true, 20'000'000, 100'000'000, 180'000'000};
  /// Fewest calls in a group of three windows for a ratio. With less than half of them in the first window, no bypassed
  /// window follows.
  static constexpr uint64_t kLeastCalls = 30;

  InfluenceCheck(const Turns& turns, Counter counter) : turns_(turns), counter_(std::move(counter)) {}

  bool PassesAll() const { return turns_.pass_all; }
  /// Whether all windows so far were skipped, and there was at least one.
  bool HasOnlySkipped() const { return has_skipped_ && !has_looked_; }
  /// Whether calls bypass the probe now.
  bool Passes() const { return phase_ == Phase::kPassed; }
  /// End of the current window. 0: none has begun.
  int64_t EndNs() const { return end_ns_; }
  /// Its begin.
  int64_t BeginNs() const { return begin_.t_ns; }
  /// Ends the window; Passes() then describes the next one, which starts with Begin().
  void End(int64_t now_ns);
  void Begin(int64_t now_ns);
  /// Discards the current group of windows and begins a pause.
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
  bool has_looked_ = false;  ///< whether a window was tried that was not skipped
  int64_t end_ns_ = 0;
  Reading begin_;
  std::array<Turn, 4> last_{};  ///< by phase
  std::vector<double> ratios_, same_;
  int64_t passed_ns_ = 0;
  uint32_t random_ = 1;
};

/// The rows of the recording's info (model/info_keys.h).
/// @param calls all futex calls of the program, or why they are not known
/// @param mutex_calls those of mutexes alone; nullopt: not counted
/// @param check nullptr: no comparison was requested
std::vector<std::pair<std::string, std::string>> InfluenceRows(const Result<uint64_t>& calls,
                                                               const std::optional<uint64_t>& mutex_calls,
                                                               const InfluenceCheck* check);

}  // namespace attune::session
