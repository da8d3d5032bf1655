#include "model/series_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune::model {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(GrowthBetween, IsUnknownAcrossResetsAndMissingValues) {
  EXPECT_DOUBLE_EQ(GrowthBetween(0, 10, 2 * kSecond, 30).PerSecond(), 10);
  EXPECT_EQ(GrowthBetween(-INT64_MAX, -INT64_MAX, INT64_MAX, INT64_MAX).amount, 2.0 * static_cast<double>(INT64_MAX));
  EXPECT_TRUE(std::isnan(GrowthBetween(0, 30, kSecond, 10).amount)) << "it began again";
  EXPECT_TRUE(std::isnan(GrowthBetween(kSecond, 10, kSecond, 30).amount)) << "no time passed";
  EXPECT_TRUE(std::isnan(GrowthBetween(0, kAbsent, kSecond, 30).amount));
  EXPECT_TRUE(std::isnan(GrowthBetween(0, 10, kSecond, kAbsent).amount));
}

TEST(SeriesReading, IsInTheUnitOfItsSeries) {
  SeriesReading reading;
  EXPECT_FALSE(reading.Level());
  EXPECT_FALSE(reading.Rate());
  reading.series.scale = 3;
  reading.base_ns = 0;
  reading.base = 10;
  reading.t_ns = 2 * kSecond;
  reading.raw = 30;
  EXPECT_EQ(reading.Level(), 30'000);
  EXPECT_EQ(reading.Rate(), 10'000);
  EXPECT_FALSE(reading.Share()) << "no largest rate is known";
  EXPECT_EQ(reading.series.LargestRate(), 0);
  reading.series.max_per_second = 40;
  EXPECT_EQ(reading.series.LargestRate(), 40'000);
  EXPECT_EQ(reading.Share(), 25);
  reading.raw = 91;
  EXPECT_EQ(reading.Share(), 100) << "a step at the end belongs to the time after it";
  reading.raw = 190;
  EXPECT_EQ(reading.Share(), 225) << "what steps do not explain";
  reading.raw = kAbsent;
  EXPECT_FALSE(reading.Level());
  EXPECT_FALSE(reading.Rate());
}

/// Shares of the largest rate in percent, of samples of so many ticks of 10 ms.
std::vector<double> Shares(StepSpreader& steps, int64_t sample_ns, std::initializer_list<double> ticks) {
  std::vector<double> shares;
  for (const double count : ticks)
    shares.push_back(std::round(steps.Next({count, static_cast<double>(sample_ns)}).PerSecond()));
  return shares;
}

TEST(StepSpreader, LeavesNothingAboveTheLimitThatComesOfCountingInSteps) {
  StepSpreader steps(100);
  using Values = std::vector<double>;
  EXPECT_EQ(Shares(steps, kSecond / 20, {5, 6, 4, 5, 6, 3, 0}), (Values{100, 100, 100, 100, 100, 80, 0}));
  EXPECT_EQ(Shares(steps, kSecond / 1000, {0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
            (Values{0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 0}));
  EXPECT_EQ(Shares(steps, kSecond / 20, {5, 40, 5}), (Values{100, 800, 100})) << "steps do not explain it";
  StepSpreader fast(100);
  for (int i = 0; i < 10'000; ++i)
    EXPECT_LE(fast.Next({5.01, 50e6}).PerSecond(), 100.001) << "a clock that is a bit fast";
}

TEST(StepSpreader, OfTheSumOfCpusKnowsThatTheyTickTogether) {
  StepSpreader steps(64 * 100);
  EXPECT_EQ(Shares(steps, kSecond / 1000, {64, 0, 0}), (std::vector<double>{6400, 6400, 6400}));
}

TEST(StepSpreader, LimitsNothingThatIsNotKnown) {
  StepSpreader none;
  EXPECT_EQ(none.Next({1e9, 1}).amount, 1e9);
  EXPECT_TRUE(std::isnan(none.Next({std::nan(""), 0}).PerSecond()));
  StepSpreader steps(100);
  EXPECT_TRUE(std::isnan(steps.Next({std::nan(""), 0}).PerSecond()));
  EXPECT_EQ(Shares(steps, kSecond / 20, {4}), (std::vector<double>{80}));
}

TEST(SumOfElements, FollowsTheRuleOfTheSignal) {
  const auto sum_of = [](SumRule rule, std::initializer_list<double> values) {
    SumOfElements sum(rule);
    for (const double value : values) sum.Add(value);
    return sum.Value();
  };
  EXPECT_EQ(sum_of(SumRule::kSum, {1, 2, 6}), 9);
  EXPECT_EQ(sum_of(SumRule::kMean, {1, 2, 6}), 3);
  EXPECT_EQ(sum_of(SumRule::kMax, {-3, -1, -2}), -1);
  EXPECT_EQ(sum_of(SumRule::kNone, {5}), 5);
  EXPECT_EQ(sum_of(SumRule::kMean, {}), std::nullopt);
}

}  // namespace
}  // namespace attune::model
