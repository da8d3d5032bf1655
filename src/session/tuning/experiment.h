#pragma once
/// The guard of tuning: whether a change helps, found by trying it out (docs/tuning.md). Pure: it says which setting is
/// to be measured next and is given what was measured; who uses it turns the knob and reads the objective.
///
/// Windows are measured in pairs, one with the setting of before and one with the setting on trial, half of the pairs
/// in either order at random. The figure is the median of the pairs' ratios, with an interval by order statistics,
/// which assumes nothing about how they are spread. A program that gets faster or slower by itself changes the ratios
/// of both orders in opposite directions. Ratios of windows with the same setting, from one pair to the next, say how
/// much the objective changes by itself: a change that is no larger is not kept.

#include <cstdint>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

namespace attune::session {

struct ExperimentPlan {
  uint32_t least_pairs = 8;  ///< before anything but harm and a large gain is decided; a multiple of 4
  double large_gain = 0.5;   ///< in each of the first four pairs, and far beyond noise: kept at once
  uint32_t most_pairs = 32;  ///< then what is not better is taken back
  double least_gain = 0.03;  ///< smallest gain to keep, by the lower bound of its 99 % interval
  double harm = 0.20;        ///< a window that is worse by more ends the experiment at once
  double too_noisy = 0.35;   ///< usual change of the same setting beyond which nothing can be told
};

/// Gain of an experiment: 0.1 is a tenth more of the objective.
struct GainEstimate {
  uint32_t pairs = 0;
  double gain = 0;  ///< median
  double low = 0;   ///< 95 % interval of the median
  double high = 0;
  double same = 0;  ///< usual change (median) from one window to the next with the same setting, without sign
};

struct MedianInterval {
  double median = 0, low = 0, high = 0;
};
/// The median of values and its interval by order statistics. @pre not empty
/// @param tail probability that the true median lies below the interval, and as much above it; with few values the
///   interval is all of them
MedianInterval MedianWithInterval(std::vector<double> values, double tail = 0.025);

class Experiment {
 public:
  enum class Arm : uint8_t { kBefore, kOnTrial };
  enum class Verdict : uint8_t {
    kGoesOn,
    kBetter,
    kNoBetter,
    kHarmful,
    kTooNoisy,
  };

  /// @param own rates of windows before the trial: how low the objective falls by itself is no harm of the change
  Experiment(const ExperimentPlan& plan, const std::vector<double>& own, uint32_t seed);

  /// The setting of the window that is to be measured now.
  Arm arm() const { return arms_[window_]; }
  /// Pause with this setting before the window, in parts of a window (0 to 1): keeps windows out of step with what the
  /// program does periodically.
  double pause() const { return pause_; }
  /// @param rate of the objective in the window, per unit of time; larger is better
  Verdict Add(double rate);
  Verdict verdict() const { return verdict_; }
  GainEstimate Figures() const;

 private:
  void BeginGroup();
  Verdict Judge() const;
  std::vector<double> Ratios() const;  ///< logarithms, by pair

  const ExperimentPlan plan_;
  std::mt19937 random_;
  std::vector<Arm> arms_;  ///< settings of a group of four pairs, two in either order
  size_t window_ = 0;      ///< in the group
  double pause_ = 0;
  double least_;                           ///< rate of any window of before
  double first_ = 0;                       ///< rate of the first window of the pair
  std::vector<double> before_, on_trial_;  ///< rates, by pair
  Verdict verdict_ = Verdict::kGoesOn;
};

std::string_view ToString(Experiment::Verdict verdict);

}  // namespace attune::session
