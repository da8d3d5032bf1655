#include "session/tuning/experiment.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace attune::session {
namespace {

constexpr size_t kGroupPairs = 4;
/// Tail of the interval that decides: several changes are tried, each with several looks.
constexpr double kDecidingTail = 0.005;
/// Times the usual change of the same setting.
constexpr double kFarBeyond = 4;

/// Logarithm of a ratio, with rates of nothing taken for very small ones.
double LogRatio(double over, double under) {
  constexpr double kLeast = 1e-9;
  return std::log(std::max(over, kLeast) / std::max(under, kLeast));
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

}  // namespace

MedianInterval MedianWithInterval(std::vector<double> values, double tail) {
  std::ranges::sort(values);
  const size_t n = values.size();
  // The largest k whose tail of the binomial distribution, P(fewer than k of n below the median), is small enough.
  double term = std::pow(0.5, static_cast<double>(n)), sum = term;
  size_t k = 0;
  while (k < n / 2 && sum <= tail) {
    ++k;
    term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    sum += term;
  }
  const size_t low = k == 0 ? 0 : k - 1;
  return {(values[(n - 1) / 2] + values[n / 2]) / 2, values[low], values[n - 1 - low]};
}

Experiment::Experiment(const ExperimentPlan& plan, const std::vector<double>& own, uint32_t seed)
    : plan_(plan), random_(seed), least_(own.empty() ? INFINITY : std::ranges::min(own)) {
  BeginGroup();
}

void Experiment::BeginGroup() {
  std::array<bool, kGroupPairs> before_first{true, true, false, false};
  std::ranges::shuffle(before_first, random_);
  arms_.clear();
  for (const bool before : before_first) {
    arms_.push_back(before ? Arm::kBefore : Arm::kOnTrial);
    arms_.push_back(before ? Arm::kOnTrial : Arm::kBefore);
  }
  window_ = 0;
}

Experiment::Verdict Experiment::Add(double rate) {
  if (verdict_ != Verdict::kGoesOn) return verdict_;
  const Arm now = arm();
  const bool is_second = window_ % 2 == 1;
  if (now == Arm::kBefore) least_ = std::min(least_, rate);
  // Worse than the worst window of before, by the limit: a bad window of an objective that has such is no harm.
  if (now == Arm::kOnTrial && std::isfinite(least_) && rate < (1 - plan_.harm) * least_)
    return verdict_ = Verdict::kHarmful;
  if (is_second) {
    before_.push_back(now == Arm::kBefore ? rate : first_);
    on_trial_.push_back(now == Arm::kBefore ? first_ : rate);
    verdict_ = Judge();
  } else {
    first_ = rate;
  }
  if (++window_ == arms_.size()) BeginGroup();
  // Between pairs only: within a pair the windows are as near to each other as they can be.
  pause_ = is_second ? std::uniform_real_distribution<double>(0, 1)(random_) : 0;
  return verdict_;
}

Experiment::Verdict Experiment::Judge() const {
  const auto pairs = static_cast<uint32_t>(before_.size());
  if (pairs % kGroupPairs != 0) return Verdict::kGoesOn;
  const GainEstimate figures = Figures();
  // Each further window without it would be time lost.
  const double least = std::ranges::min(Ratios());
  if (least > std::log1p(plan_.large_gain) && least > kFarBeyond * std::log1p(figures.same)) return Verdict::kBetter;
  if (pairs < plan_.least_pairs) return Verdict::kGoesOn;
  if (figures.same > plan_.too_noisy) return Verdict::kTooNoisy;
  // The usual change of the same setting bounds what the median of as many pairs is by chance.
  const double by_chance = 2 * figures.same / std::sqrt(static_cast<double>(pairs));
  const double low = std::expm1(MedianWithInterval(Ratios(), kDecidingTail).low);
  if (low > plan_.least_gain && figures.gain > by_chance) return Verdict::kBetter;
  if (figures.high < plan_.least_gain || pairs >= plan_.most_pairs) return Verdict::kNoBetter;
  return Verdict::kGoesOn;
}

std::vector<double> Experiment::Ratios() const {
  std::vector<double> ratios;
  for (size_t i = 0; i < before_.size(); ++i) ratios.push_back(LogRatio(on_trial_[i], before_[i]));
  return ratios;
}

GainEstimate Experiment::Figures() const {
  if (before_.empty()) return {};
  std::vector<double> same;
  for (size_t i = 1; i < before_.size(); ++i) {
    same.push_back(std::abs(LogRatio(before_[i], before_[i - 1])));
    same.push_back(std::abs(LogRatio(on_trial_[i], on_trial_[i - 1])));
  }
  const MedianInterval of = MedianWithInterval(Ratios());
  return {.pairs = static_cast<uint32_t>(before_.size()),
          .gain = std::expm1(of.median),
          .low = std::expm1(of.low),
          .high = std::expm1(of.high),
          .same = same.empty() ? 0 : std::expm1(Median(std::move(same)))};
}

std::string_view ToString(Experiment::Verdict verdict) {
  constexpr std::array<std::string_view, 5> kWords{"goes on", "better", "not better than noise", "harmful",
                                                   "too noisy to tell"};
  return kWords.at(static_cast<size_t>(verdict));
}

}  // namespace attune::session
