#include "counter/scaled_count.h"

#include <gtest/gtest.h>

#include <array>
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

/// A thread that is on one kind of cores for 100 ns and on another one for 300 ns.
TEST(TimeOfKinds, IsNotThatOfWaitingForACounter) {
  const auto totals = [](uint64_t parts) {
    std::array kinds{
        ScaledCount::Reading{.value = 1000 / parts, .enabled_ns = 400, .running_ns = 100 / parts},
        ScaledCount::Reading{.value = 6000 / parts, .enabled_ns = 402, .running_ns = 300 / parts},
    };
    TimeOfKinds time;
    for (const auto& kind : kinds) time.Add(kind);
    EXPECT_NEAR(time.Whole(), static_cast<double>(parts), 0.01);
    std::array<ScaledCount, 2> counts;
    for (size_t i = 0; i < kinds.size(); ++i) EXPECT_TRUE(counts[i].AddOfKind(kinds[i], time.Whole()));
    EXPECT_EQ(counts[0].share() < 1, parts > 1);
    return std::pair(counts[0].total(), counts[1].total());
  };
  EXPECT_EQ(totals(1), std::pair(1000L, 6000L)) << "the readings were 2 ns apart";
  const auto [first, second] = totals(2);
  EXPECT_NEAR(static_cast<double>(first), 1000, 20) << "each counter was counted half of the time";
  EXPECT_NEAR(static_cast<double>(second), 6000, 60);
}

TEST(TimeOfKinds, NothingWasCounted) {
  TimeOfKinds time;
  time.Add({.value = 0, .enabled_ns = 100, .running_ns = 0});
  time.Add({.value = 0, .enabled_ns = 100, .running_ns = 0});
  EXPECT_EQ(time.Whole(), 0);
  ScaledCount count;
  EXPECT_TRUE(count.AddOfKind({.value = 10, .enabled_ns = 50, .running_ns = 50}, 1));
  EXPECT_FALSE(count.AddOfKind({.value = 10, .enabled_ns = 90, .running_ns = 50}, 1)) << "it is on the other kind";
  EXPECT_EQ(count.total(), 10);
}

}  // namespace
}  // namespace attune::counter
