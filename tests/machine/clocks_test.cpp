#include "machine/clocks.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "machine/measured_json.h"

namespace attune::machine {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

/// Once for all tests: enough time for each part.
const Clocks& Measured() {
  constexpr int64_t kAmpleNs = 200'000'000'000;
  static const Clocks clocks = MeasureClocks(*ReadTopology(HostRoot(), {}),
                                             {.allowed = CpuSet::Allowed(),
                                              .max_cpus = 2,
                                              .rounds = 10,
                                              .compare_budget_ns = kAmpleNs,
                                              .step_budget_ns = 50'000'000,
                                              .pair_budget_ns = kAmpleNs,
                                              .most_iterations = 1000},
                                             [](size_t, size_t) {});
  return clocks;
}

const Clock& Find(const std::string& name) {
  const auto& clocks = Measured().clocks;
  return *std::find_if(clocks.begin(), clocks.end(), [&](const Clock& clock) { return clock.name == name; });
}

TEST(Clocks, EachIsMeasuredOrSaysWhyNot) {
  for (const Clock& clock : Measured().clocks) {
    if (!clock.unavailable.empty()) continue;
    EXPECT_GT(clock.read_ns.median_ns, 0) << clock.name;
    EXPECT_LE(clock.read_ns.low_ns, clock.read_ns.high_ns) << clock.name;
    EXPECT_NE(clock.agreement.has_value(), !clock.no_agreement.empty()) << clock.name;
    ASSERT_EQ(clock.pairs.size(), 4u) << clock.name;
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(clock.pairs[i].iterations, std::pow(10, i)) << clock.name;
  }
}

TEST(Clocks, MonotonicOnesNeverGoBack) {
  const Clock& clock = Find("CLOCK_MONOTONIC");
  EXPECT_GT(clock.claimed_step_ns, 0);
  EXPECT_GT(clock.observed_step_ns, 0.0);
  if (CpuSet::Allowed().size() > 1) {
    ASSERT_TRUE(clock.agreement.has_value()) << clock.no_agreement;
    EXPECT_EQ(clock.agreement->violations, 0u);
    EXPECT_EQ(clock.agreement->pairs, 1u);
    EXPECT_EQ(clock.agreement->readings, 20u) << "two a round";
  }
}

TEST(Clocks, AThreadsOwnTimeIsNotCompared) {
  EXPECT_THAT(Find("CLOCK_THREAD_CPUTIME_ID").no_agreement, HasSubstr("own"));
}

#if defined(__x86_64__)
TEST(Clocks, TheCycleCounterIsConvertedByItsMeasuredRate) {
  const Clock& clock = Find("lfence rdtsc lfence");
  if (!clock.unavailable.empty()) GTEST_SKIP() << clock.unavailable;
  EXPECT_GT(Measured().tsc_hz, 1e8);
  const PairCost& pair = clock.pairs.back();
  EXPECT_GT(pair.measured_ns, 0);
  // Between the first and the last reading of a pair there is less than a whole pair.
  EXPECT_LT(pair.measured_ns, pair.execution_ns);
}
#endif

TEST(Clocks, OneCpuIsSaid) {
  const CpuSet one({*CpuSet::Allowed().begin()});
  const Clocks clocks =
      MeasureClocks(*ReadTopology(HostRoot(), {}), {.allowed = one, .pair_budget_ns = 1'000'000, .most_iterations = 10},
                    [](size_t, size_t) {});
  EXPECT_THAT(clocks.notes, Contains(HasSubstr("two CPUs")));
  for (const Clock& clock : clocks.clocks) EXPECT_FALSE(clock.agreement.has_value()) << clock.name;
}

TEST(Clocks, JsonLeavesOutWhatIsNotKnown) {
  Clocks clocks;
  clocks.clocks.push_back({.name = "rdtsc", .unavailable = "an instruction of x86 processors"});
  clocks.clocks.push_back({.name = "time", .no_agreement = "one CPU may be used"});
  const auto json = ToJson(clocks);
  EXPECT_FALSE(json.contains("tsc_hz"));
  EXPECT_EQ(json["clocks"][0].size(), 2u);
  EXPECT_FALSE(json["clocks"][1].contains("observed_step_ns"));
  EXPECT_FALSE(json["clocks"][1].contains("agreement"));
}

}  // namespace
}  // namespace attune::machine
