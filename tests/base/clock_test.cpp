#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cpu_set.h"

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

/// A sync, and how far it may be off: it was taken within that time.
struct Reading {
  int64_t before_ns = MonotonicNs();
  ClockSync sync = ReadClocks();
  int64_t width_ns = MonotonicNs() - before_ns;
};

TEST(ClockConverter, AgreesWithTheMonotonicClockOfThisMachine) {
  const CpuSet allowed = CpuSet::Allowed();
  ASSERT_TRUE(CpuSet({*allowed.begin()}).PinThisThread().ok()) << "not every machine's cycle counters agree";
  const Reading first, middle;
  while (MonotonicNs() - middle.before_ns < 2'000'000) {
  }
  const Reading last;
  EXPECT_TRUE(allowed.PinThisThread().ok());
  ClockConverter converter;
  converter.Add(first.sync);
  converter.Add(last.sync);
  // The kernel may set its clock's rate meanwhile, by a thousandth at most.
  const int64_t bound_ns = first.width_ns + middle.width_ns + last.width_ns + (last.before_ns - first.before_ns) / 1000;
  EXPECT_LE(std::abs(converter.ToMonotonicNs(middle.sync.tsc) - middle.sync.monotonic_ns), bound_ns);
}

}  // namespace
}  // namespace attune
