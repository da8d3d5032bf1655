#include "analysis/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

namespace attune::analysis {
namespace {

TEST(WelchInterval, IsThatOfTheTextbook) {
  // Two groups of 15 values: difference 2.1667, standard error 0.88242, 24.99 degrees of freedom, t(0.975) = 2.0595.
  const std::vector<double> before{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
                                   21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4};
  const std::vector<double> after{27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
                                  24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4};
  const DifferenceInterval interval = WelchInterval(before, after, 0.95);
  EXPECT_NEAR((interval.low + interval.high) / 2, 2.1667, 1e-3);
  EXPECT_NEAR(interval.high - interval.low, 2 * 1.8174, 0.001);
}

TEST(WelchInterval, OfConstantsIsTheirDifference) {
  const DifferenceInterval interval = WelchInterval({1, 1, 1, 1}, {3, 3, 3, 3}, 0.95);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 2);
}

TEST(WelchInterval, GrowsWithTheConfidence) {
  const std::vector<double> before{1, 2, 3, 4}, after{2, 3, 4, 6};
  const DifferenceInterval narrow = WelchInterval(before, after, 0.9);
  const DifferenceInterval wide = WelchInterval(before, after, 0.9999);
  EXPECT_LT(wide.low, narrow.low);
  EXPECT_GT(wide.high, narrow.high);
}

TEST(SignalChange, IsRelativeToWhatWasBefore) {
  const auto relative = [](double before, double after) {
    SignalChange change;
    change.before = before;
    change.after = after;
    return change.Relative();
  };
  EXPECT_EQ(relative(4, 5), 0.25);
  EXPECT_EQ(relative(-4, -5), -0.25);
  EXPECT_EQ(relative(0, 0), 0);
  EXPECT_TRUE(std::isinf(relative(0, 1)));
}

}  // namespace
}  // namespace attune::analysis
