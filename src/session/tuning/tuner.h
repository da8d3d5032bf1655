#pragma once
/// Tuning: proposals of the tunlets, each tried under the guard while the program runs (docs/tuning.md).

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/cpu_set.h"
#include "base/thread_safety.h"
#include "model/schema.h"
#include "session/tuning/experiment.h"
#include "session/tuning/knob_board.h"
#include "session/tuning/progress.h"
#include "session/tuning/tuning_choice.h"
#include "tunlet/tunlet.h"

namespace attune::session {

/// Callbacks of a tuner into its session. @thread the tuner's
struct TuningHost {
  std::function<std::vector<pid_t>()> running;            ///< the programs' processes
  std::function<ProgressReading()> read;                  ///< the counters, up to now
  std::function<int64_t()> least_window_ns;               ///< of the counters that are read; 0: any
  std::function<std::vector<model::Finding>()> findings;  ///< the open ones
  std::function<uint32_t()> widest_team;                  ///< threads of the widest OpenMP team; 0: there was none
  std::function<uint32_t()> loops;                        ///< of OpenMP that there were: wire::RingLoops
  std::function<std::string(int64_t site)> place;         ///< name of a candidate's object, for people
  std::function<std::string(int64_t site)> module;        ///< file of the library or program that it is in
  std::function<void(const model::Decision&)> publish;
  std::function<void(int64_t t_ns, double rate)> show_rate;  ///< objective's rate in a window, for charts
  CpuSet cpus;                                               ///< that the programs may use
};

/// Progress of the tuner. All numbers are 0, and texts empty, as long as nothing is known.
struct TuningStatus {
  std::string objective;
  std::string unit;
  double noise = 0;        ///< usual change from one window to the next
  double rate_before = 0;  ///< objective's rate before the first change
  double rate_now = 0;
  int64_t window_ns = 0;
  int64_t trials_ns = 0;  ///< time in trials so far
  std::string trial;      ///< "KNOB = VALUE" on trial
};

class Tuner {
 public:
  Tuner(TuningChoice choice, TuningHost host, std::unique_ptr<KnobBoard> board);

  /// Until Stop(). Everything is turned back when it returns.
  void Run();
  /// @thread any
  void Stop();
  TuningStatus Status() const;
  /// Order for the end of the window: try the value or, if it is empty, take back what holds.
  /// @thread any
  void Ask(KnobChoice wanted) ATTUNE_EXCLUDES(mutex_);

 private:
  enum class Ended { kNo, kYes };
  struct Trial;

  bool Sleep(int64_t ns);
  bool IsOver();
  bool Observe();
  bool Lengthen();
  void Show(const std::vector<Objective>& ranked);
  bool ApplySettings();
  void DoWhatWasAsked();
  void TakeBack(const model::Knob& knob);
  std::optional<Objective> ObjectiveFor(const model::Knob& knob, const std::vector<Objective>& ranked) const;
  std::string NameOf(const Candidate& candidate) const;
  bool IsWantedObjective(const Candidate& candidate) const;
  tunlet::Observation Look();
  const model::Knob* FindKnob(std::string_view name) const;
  bool IsWanted(std::string_view tunlet, const std::string& knob) const;
  void TryNext();
  void Try(const model::Knob& knob, const tunlet::Proposal& proposal, std::string_view by,
           const std::vector<Objective>& ranked);
  bool Measure(Trial& trial);
  void ShowRate(const Candidate& candidate, const ProgressReading& begin, const ProgressReading& end) const;
  model::Decision Conclude(Trial& trial);
  void Publish(model::Decision decision);

  const TuningChoice choice_;
  const TuningHost host_;
  const std::unique_ptr<KnobBoard> board_;
  std::vector<std::unique_ptr<tunlet::Tunlet>> tunlets_;
  std::deque<ProgressReading> own_;  ///< ends of windows since the last change
  int64_t window_ns_;
  int64_t begin_ns_ = 0;
  std::set<std::pair<std::string, std::string>> tried_;                         ///< (knob, value)
  std::map<std::string, std::pair<int64_t, std::vector<std::string>>> values_;  ///< by knob: when read, and what
  int64_t decisions_ = 0;
  std::optional<Candidate> objective_;  ///< candidate of the first trial; shown from then on

  mutable Mutex mutex_;
  CondVar stop_;
  bool stopping_ ATTUNE_GUARDED_BY(mutex_) = false;
  std::deque<KnobChoice> asked_ ATTUNE_GUARDED_BY(mutex_);
  TuningStatus status_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune::session
