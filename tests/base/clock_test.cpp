#include "base/clock.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(ClockConverter, InterpolatesPiecewiseAndExtrapolatesAtTheEnds) {
  ClockConverter converter;
  converter.Add({1000, 5000, 0});
  EXPECT_EQ(converter.ToMonotonicNs(1234), 5000);  // one sync: no slope yet
  converter.Add({2000, 6000, 0});                  // 1 ns a tick
  converter.Add({3000, 8000, 0});                  // 2 ns a tick
  converter.Add({3000, 9999, 0});                  // not later: ignored
  EXPECT_EQ(converter.ToMonotonicNs(1500), 5500);
  EXPECT_EQ(converter.ToMonotonicNs(2500), 7000);
  EXPECT_EQ(converter.ToMonotonicNs(500), 4500);
  EXPECT_EQ(converter.ToMonotonicNs(3500), 9000);
}

TEST(ClockConverter, AgreesWithTheMonotonicClockOfThisMachine) {
  ClockConverter converter;
  converter.Add(ReadClocks());
  ClockSync middle = ReadClocks();
  while (middle.monotonic_ns - ReadClocks().monotonic_ns > -2'000'000) {
  }
  converter.Add(ReadClocks());
  // 20 us is far above the error of a sync (under 1 us) and far below the distance (2 ms).
  EXPECT_NEAR(static_cast<double>(converter.ToMonotonicNs(middle.tsc)), static_cast<double>(middle.monotonic_ns),
              20'000.0);
}

}  // namespace
}  // namespace attune
