#include "counter/scaled_count.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace attune::counter {
namespace {

TEST(ScaledCount, AddsWhatCameDividedByTheShareInWhichItWasCounted) {
  ScaledCount count;
  EXPECT_TRUE(count.Add({.value = 1000, .enabled_ns = 100, .running_ns = 100}));
  EXPECT_EQ(count.total(), 1000);
  EXPECT_EQ(count.share_permille(), 1000);
  EXPECT_TRUE(count.Add({.value = 1500, .enabled_ns = 300, .running_ns = 150}));
  EXPECT_EQ(count.total(), 3000) << "500 in a quarter of the time";
  EXPECT_EQ(count.share_permille(), 250);
}

TEST(ScaledCount, NeverFallsWhateverTheShares) {
  // Scaled as a whole it would be 4000 and then 2100: counts of other tools go backwards here.
  ScaledCount count;
  EXPECT_TRUE(count.Add({.value = 1000, .enabled_ns = 400, .running_ns = 100}));
  EXPECT_EQ(count.total(), 4000);
  EXPECT_TRUE(count.Add({.value = 1050, .enabled_ns = 800, .running_ns = 400}));
  EXPECT_EQ(count.total(), 4066);
}

TEST(ScaledCount, WhatWasNotCountedIsMadeUpForLater) {
  ScaledCount count;
  EXPECT_TRUE(count.Add({.value = 100, .enabled_ns = 100, .running_ns = 100}));
  EXPECT_FALSE(count.Add({.value = 100, .enabled_ns = 200, .running_ns = 100}));
  EXPECT_EQ(count.total(), 100);
  EXPECT_EQ(count.share_permille(), 0);
  EXPECT_TRUE(count.Add({.value = 200, .enabled_ns = 300, .running_ns = 200}));
  EXPECT_EQ(count.total(), 300) << "the event happened as often while others were counted";
}

TEST(ScaledCount, StaysWithinItsNumbers) {
  ScaledCount count;
  EXPECT_TRUE(count.Add({.value = UINT64_MAX, .enabled_ns = UINT64_MAX, .running_ns = 1}));
  EXPECT_EQ(count.total(), INT64_MAX);
  EXPECT_TRUE(count.Add({.value = 5, .enabled_ns = UINT64_MAX, .running_ns = 2})) << "a count that went back is none";
  EXPECT_EQ(count.total(), INT64_MAX);
  EXPECT_EQ(count.share_permille(), 1000);
}

TEST(ScaledCount, OfWhatWasCountedAllTheTimeNothingIsOff) {
  ScaledCount count;
  for (uint64_t i = 1; i <= 5; ++i)
    EXPECT_TRUE(count.Add({.value = 1000 * i * i, .enabled_ns = 100 * i, .running_ns = 100 * i}));
  EXPECT_EQ(count.Bound(), 0);
  EXPECT_EQ(count.share(), 1);
}

/// Programs whose rate wanders, whose event was counted in one of four slices of a window: the truth lies within the
/// bound.
TEST(ScaledCount, TheTruthLiesWithinTheBound) {
  std::mt19937 random(1);
  std::normal_distribution<double> step(0, 0.1);
  int within = 0;
  constexpr int kRuns = 400, kWindows = 50, kSlices = 4;
  constexpr double kSliceNs = 4e6;
  for (int run = 0; run < kRuns; ++run) {
    ScaledCount count;
    double rate = 1, truth = 0, seen = 0;
    for (int window = 1; window <= kWindows; ++window) {
      for (int slice = 0; slice < kSlices; ++slice) {
        rate *= std::exp(step(random));
        truth += rate * kSliceNs;
        if (slice == window % kSlices) seen += rate * kSliceNs;
      }
      const auto enabled = static_cast<uint64_t>(window * kSlices * kSliceNs);
      static_cast<void>(
          count.Add({.value = static_cast<uint64_t>(seen), .enabled_ns = enabled, .running_ns = enabled / kSlices}));
    }
    within += std::abs(static_cast<double>(count.total()) - truth) <= count.Bound() ? 1 : 0;
    EXPECT_LT(count.Bound(), truth) << "it says something";
  }
  EXPECT_GE(within, kRuns * 95 / 100);
}

}  // namespace
}  // namespace attune::counter
