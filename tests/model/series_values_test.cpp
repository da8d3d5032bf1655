#include "model/series_values.h"

#include <gtest/gtest.h>

#include <cmath>

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
  reading.raw = kAbsent;
  EXPECT_FALSE(reading.Level());
  EXPECT_FALSE(reading.Rate());
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
