// The guard of tuning against 10 000 simulated programs a kind; prints the table of docs/tuning.md.

#include "session/tuning/experiment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>
#include <random>

namespace attune::session {
namespace {

using Verdict = Experiment::Verdict;

#if defined(__has_feature)
#define ATTUNE_IS_CLANG_SANITIZED __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#else
#define ATTUNE_IS_CLANG_SANITIZED 0
#endif
/// Each takes ten times as long under a sanitizer.
constexpr int kRuns = ATTUNE_IS_CLANG_SANITIZED ? 500 : 10'000;
/// What a rate below may be missed by, with so many runs.
constexpr double kChance = ATTUNE_IS_CLANG_SANITIZED ? 0.01 : 0;
constexpr double kStep = 0.05;   ///< of a window, in which a program's rate is one value
constexpr double kSettle = 0.2;  ///< windows
constexpr int kOwnWindows = 12;  ///< before the trial

/// A program whose rate changes by itself: from time, in windows since its start, to a factor.
using OwnRate = std::function<double(double time)>;
struct Kind {
  const char* name;
  double noise;  ///< standard deviation of a window's logarithm
  std::function<OwnRate(std::mt19937&)> make = [](std::mt19937&) -> OwnRate { return [](double) { return 1.0; }; };
};

struct Share {
  double better = 0, harmful = 0, noisy = 0;
  double windows = 0;  ///< mean length of an experiment
};

Share Simulate(const Kind& kind, double factor) {
  Share share;
  for (int run = 0; run < kRuns; ++run) {
    std::mt19937 random(static_cast<uint32_t>(run) * 7919 + 1);
    const OwnRate own = kind.make(random);
    std::normal_distribution<double> noise(0, kind.noise);
    double time = std::uniform_real_distribution<double>(0, 100)(random);
    const auto window = [&] {
      double work = 0;
      for (double part = 0; part < 1; part += kStep) work += own(time + part) * kStep;
      time += 1;
      return work * std::exp(noise(random));
    };
    std::vector<double> before;
    for (int i = 0; i < kOwnWindows; ++i) before.push_back(window());
    Experiment experiment(ExperimentPlan{}, before, static_cast<uint32_t>(run));
    int windows = 0;
    for (; experiment.verdict() == Verdict::kGoesOn; ++windows) {
      time += kSettle + experiment.pause();
      experiment.Add(window() * (experiment.arm() == Experiment::Arm::kOnTrial ? factor : 1));
    }
    share.better += experiment.verdict() == Verdict::kBetter;
    share.harmful += experiment.verdict() == Verdict::kHarmful;
    share.noisy += experiment.verdict() == Verdict::kTooNoisy;
    share.windows += windows;
  }
  for (double* value : {&share.better, &share.harmful, &share.noisy, &share.windows}) *value /= kRuns;
  return share;
}

double Uniform(std::mt19937& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// Twice as fast, or half as fast, after 40 windows.
OwnRate Drifts(std::mt19937& random) {
  const double slope = Uniform(random, -1, 1) * std::numbers::ln2 / 40;
  return [slope](double time) { return std::exp(slope * time); };
}

/// Up and down by a third of its rate, a period of a third of a window to eight.
OwnRate Alternates(std::mt19937& random) {
  const double period = std::exp(Uniform(random, std::log(0.3), std::log(8)));
  return [period](double time) { return std::fmod(time, period) < period / 2 ? 1.33 : 0.67; };
}

/// Stands for a window in every eight or so.
OwnRate Bursts(std::mt19937& random) {
  const double period = Uniform(random, 5, 12);
  return [period](double time) { return std::fmod(time, period) < 1 ? 0.3 : 1.0; };
}

/// Another rate for good at some time in the trial.
OwnRate Steps(std::mt19937& random) {
  const double at = Uniform(random, 100, 140), to = Uniform(random, 0.5, 2);
  return [at, to](double time) { return time < at ? 1.0 : to; };
}

const Kind kSteady{"steady, 2 % noise", 0.02};
const Kind kNoisy{"10 % noise", 0.10};
const Kind kWild{"30 % noise", 0.30};
const Kind kDrifting{"drifts", 0.03, Drifts};
const Kind kAlternating{"alternates", 0.03, Alternates};
const Kind kBursting{"bursts", 0.03, Bursts};
const Kind kStepping{"one step", 0.03, Steps};

TEST(Guard, ErrsRarely) {
  std::printf("%-20s %8s %8s %8s %8s %8s\n", "program", "change", "kept", "harm", "noisy", "windows");
  for (const Kind& kind : {kSteady, kNoisy, kWild, kDrifting, kAlternating, kBursting, kStepping}) {
    for (const double factor : {0.7, 0.95, 1.0, 1.1, 1.2, 1.5, 2.0}) {
      const Share share = Simulate(kind, factor);
      std::printf("%-20s %+7.0f%% %7.2f%% %7.2f%% %7.2f%% %8.1f\n", kind.name, 100 * (factor - 1), 100 * share.better,
                  100 * share.harmful, 100 * share.noisy, share.windows);
      if (factor > 1) continue;
      EXPECT_LT(share.better, (factor < 1 ? 0.003 : 0.01) + kChance) << kind.name << " " << factor;
    }
  }
}

TEST(Guard, FindsAGainOfASteadyProgram) {
  EXPECT_GT(Simulate(kSteady, 1.1).better, 0.99);
  EXPECT_GT(Simulate(kDrifting, 1.2).better, 0.95);
  EXPECT_GT(Simulate(kNoisy, 1.5).better, 0.99);
}

TEST(Guard, EndsAHarmfulTrialAtOnce) {
  const Share share = Simulate(kSteady, 0.7);
  EXPECT_GT(share.harmful, 0.999);
  EXPECT_LE(share.windows, 3);
}

TEST(Guard, MedianAndIntervalOfOrderStatistics) {
  const MedianInterval of = MedianWithInterval({8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(of.median, 4.5);
  EXPECT_EQ(of.low, 1);
  EXPECT_EQ(of.high, 8);
  const MedianInterval nine = MedianWithInterval({9, 8, 7, 6, 5, 4, 3, 2, 1});
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.high, 8);
  EXPECT_EQ(MedianWithInterval({3}).low, 3);
}

}  // namespace
}  // namespace attune::session
