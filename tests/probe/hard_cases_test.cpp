// Programs in unusual states end as without the probe, and what they did is accounted for.

#include <gmock/gmock.h>

#include <cstdlib>
#include <tuple>

#include "probe_run.h"
#include "wire/sync.h"

namespace attune::hard_cases_test {
namespace {

using wire::SyncKind;

std::vector<std::string> Case(const std::string& name, long number = 0, const std::string& program = "hard_cases") {
  return {std::string(ATTUNE_PROBE_PROGRAMS) + "/" + program, name, std::to_string(number)};
}

struct Outcome {
  std::string output;
  int status = -1;
  uint64_t locked = 0;  ///< acquisitions of mutexes that were counted
  uint64_t lost = 0;    ///< that found no place to be counted in
  uint64_t refused_threads = 0;
};

/// @param extra other libraries to preload  @param level_as_number its mutexes pass every other millisecond; 0: never
Outcome Observe(const std::vector<std::string>& command, const std::string& level, const std::string& extra = "",
                uint32_t level_as_number = 0) {
  const SyncFolder folder;
  Program::Environment environment = folder.Preloaded(level);
  if (!extra.empty()) {
    for (auto& [name, value] : environment) {
      if (name == "LD_PRELOAD") value += ":" + extra;
    }
  }
  Program program(command, environment);
  Collected collected(folder);
  Outcome outcome;
  for (bool passes = true; !program.Ended(); passes = !passes) {
    collected.Drain(false, UINT64_MAX);
    for (auto& [name, reader] : collected.Readers()) {
      EXPECT_TRUE(level_as_number == 0 || reader.SetLevel(level_as_number, passes).ok());
    }
    ::usleep(1000);
  }
  outcome.status = program.Wait();
  outcome.output = program.Output();
  collected.Finish();
  for (auto& [name, reader] : collected.Readers()) {
    for (const track::SyncDelta& delta : reader.TakeSync()) {
      if (delta.kind == SyncKind::kMutex) outcome.locked += delta.count;
    }
    outcome.lost += reader.Counters().lost_sync;
    outcome.refused_threads += reader.Counters().refused_threads;
  }
  return outcome;
}

class HardCase : public testing::TestWithParam<std::tuple<const char*, const char*, const char*>> {};

TEST_P(HardCase, EndsAsWithoutTheProbe) {
  const auto [program, name, level] = GetParam();
  Program alone(Case(name), {});
  const int status = alone.Wait();
  EXPECT_EQ(status, 0);
  const Outcome observed = Observe(Case(name, 0, program), level);
  EXPECT_EQ(observed.status, status);
  EXPECT_EQ(observed.output, alone.Output());
  EXPECT_NE(observed.output, "");
  EXPECT_EQ(observed.locked > 0, std::string(level) != "off");
}

INSTANTIATE_TEST_SUITE_P(Probe, HardCase,
                         testing::Combine(testing::Values("hard_cases", "hard_cases_static"),
                                          testing::Values("small_stacks", "children", "becomes", "handlers", "filtered",
                                                          "first_thread_leaves", "at_exit"),
                                          testing::Values("profile", "blame", "trace", "off")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param) + "_" +
                                  std::get<2>(test.param);
                         });

/// Memory that the program takes from the probe costs it its own records at the most.
TEST(HardCases, RingsThatAreUnmappedProtectedTruncatedAndPunched) {
  for (const char* name : {"unmaps", "truncates"}) {
    for (const char* program : {"hard_cases", "hard_cases_static"}) {
      for (const char* level : {"profile", "blame", "trace", "off"}) {
        const Outcome outcome = Observe(Case(name, 0, program), level);
        EXPECT_EQ(outcome.status, 0) << program << ' ' << name << ' ' << level;
        EXPECT_EQ(outcome.output, "100020\n") << program << ' ' << name << ' ' << level;
      }
    }
  }
}

TEST(HardCases, TenThousandShortThreads) {
  const Outcome outcome = Observe(Case("short_threads", 10'000), "profile");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "100000\n");
  // One before main, one behind it; a thread that found no slot, since the reader was slow, counts none of its ten.
  EXPECT_LE(outcome.locked + outcome.lost, 100'002u);
  EXPECT_GE(outcome.locked + outcome.lost + 10 * outcome.refused_threads, 100'002u);
}

TEST(HardCases, AThousandLiveThreads) {
  const Outcome outcome = Observe(Case("live_threads", 1000), "profile");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "10000\n");
  // What found no slot is no secret: those threads are counted.
  EXPECT_LE(outcome.locked + outcome.lost, 10'002u);
  EXPECT_TRUE(outcome.locked + outcome.lost == 10'002u || outcome.refused_threads > 0) << outcome.locked;
}

TEST(HardCases, AnAllocatorThatLocks) {
  const Outcome outcome = Observe(Case("short_threads", 160, "own_allocator"), "blame");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "1600\n");
}

TEST(HardCases, AnotherLibraryLocksBeforeUsAndBehindUs) {
  const Outcome outcome = Observe(Case("at_exit"), "profile", std::string(ATTUNE_PROBE_PROGRAMS) + "/locks_early.so");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "1\n");
}

/// ATTUNE_RANDOM_STEPS: how much of it (a million in the soak).
class RandomSchedules : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(HardCases, RandomSchedules, testing::Values("random_schedules", "random_schedules_static"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RandomSchedules, EndAsWithoutTheProbe) {
  const char* wanted = std::getenv("ATTUNE_RANDOM_STEPS");
  const long steps = wanted == nullptr ? 8000 : std::atol(wanted);
  long seed = 0;
  const std::pair<const char*, uint32_t> levels[] = {
      {"profile", wire::kRingLevelProfile}, {"blame", wire::kRingLevelBlame}, {"trace", wire::kRingLevelTrace}};
  for (const auto& [level, number] : levels) {
    for (long done = 0; done < steps; done += 4000) {
      const std::vector<std::string> command = {std::string(ATTUNE_PROBE_PROGRAMS) + "/" + GetParam(),
                                                std::to_string(++seed), "4000"};
      Program alone(command, {});
      ASSERT_EQ(alone.Wait(), 0);
      const Outcome outcome = Observe(command, level, "", number);
      ASSERT_EQ(outcome.status, 0) << "seed " << seed;
      ASSERT_EQ(outcome.output, alone.Output()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace attune::hard_cases_test
