#include "analysis/report/duration_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace attune::analysis::duration_histogram_test {
namespace {

TEST(DurationHistogram, QuantilesAreWithinTheirBound) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> distribution(9, 3);
  DurationHistogram histogram;
  std::vector<int64_t> exact;
  for (int i = 0; i < 20000; ++i) {
    exact.push_back(static_cast<int64_t>(distribution(random)));
    histogram.Add(exact.back());
  }
  std::sort(exact.begin(), exact.end());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const auto right = exact[static_cast<size_t>(std::ceil(share * 20000)) - 1];
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(share)), static_cast<double>(right),
                0.016 * static_cast<double>(right) + 1)
        << share;
  }
  EXPECT_EQ(histogram.min(), exact.front());
  EXPECT_EQ(histogram.max(), exact.back());
  EXPECT_LE(histogram.Quantile(1), exact.back());
}

TEST(DurationHistogram, FewValuesAreExact) {
  DurationHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(123'456'789);
  EXPECT_EQ(histogram.Quantile(0.5), 123'456'789);
  EXPECT_EQ(histogram.Quantile(0.99), 123'456'789);
}

TEST(DurationHistogram, TakesTheWholeRange) {
  DurationHistogram histogram;
  histogram.Add(-5);
  histogram.Add(0);
  histogram.Add(31);
  histogram.Add(32);
  histogram.Add(INT64_MAX);
  EXPECT_EQ(histogram.count(), 5);
  EXPECT_EQ(histogram.Quantile(0.2), 0);
  EXPECT_EQ(histogram.Quantile(0.6), 31);
  EXPECT_EQ(histogram.Quantile(0.8), 32);
  EXPECT_NEAR(static_cast<double>(histogram.Quantile(1)), 9.22e18, 0.016 * 9.22e18);
}

}  // namespace
}  // namespace attune::analysis::duration_histogram_test
