#include "sensor/declared/counter_track.h"

#include <gtest/gtest.h>

namespace attune::sensor::counter_track_test {
namespace {

constexpr uint64_t k48 = (uint64_t{1} << 48) - 1;

TEST(CounterTrack, AWrapIsNoSpike) {
  CounterTrack track(48);
  EXPECT_EQ(track.Add(k48 - 9, 1000), static_cast<int64_t>(k48 - 9));
  EXPECT_EQ(track.Add(5, 1000), static_cast<int64_t>(k48 - 9 + 15));
  CounterTrack narrow(8);
  narrow.Add(250, narrow.HalfRange());
  EXPECT_EQ(narrow.Add(4, narrow.HalfRange()), 260);
}

TEST(CounterTrack, AResetGoesBackwards) {
  CounterTrack track(48);
  track.Add(1'000'000, 1000);
  EXPECT_EQ(track.Add(10, 1000), 10) << "what was counted since";
  EXPECT_EQ(track.Add(20, 1000), 20);
  EXPECT_EQ(track.Add(k48, 1000), 0) << "a step that it cannot have made is never one forwards";
  CounterTrack wide(64);
  wide.Add(1'000'000, wide.HalfRange());
  EXPECT_EQ(wide.Add(7, wide.HalfRange()), 7);
}

TEST(CounterTrack, ScalesWithoutLosingParts) {
  CounterTrack track(48);
  track.Add(0, 1000);
  for (uint64_t i = 1; i <= 1000; ++i) track.Add(i, 1000, 1.0 / 3);
  EXPECT_NEAR(static_cast<double>(track.value()), 1000.0 / 3, 1);
}

TEST(CounterTrack, NeverNegativeAtTheEndOfItsRange) {
  CounterTrack track(64);
  int64_t last = track.Add(UINT64_MAX - 3, track.HalfRange());
  EXPECT_GE(last, 0);
  for (uint64_t raw : {UINT64_MAX, uint64_t{5}, uint64_t{1} << 61, uint64_t{1} << 62, uint64_t{3} << 61})
    EXPECT_GE(track.Add(raw, track.HalfRange()), 0);
}

TEST(CounterTrack, ForgetsWhatWasOutOfSight) {
  CounterTrack track(48);
  track.Add(100, 1000);
  track.Forget();
  EXPECT_EQ(track.StepTo(5000), 0u);
  EXPECT_EQ(track.Add(5000, 1000), 5000);
}

}  // namespace
}  // namespace attune::sensor::counter_track_test
