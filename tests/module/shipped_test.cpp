// The modules that attune ships, as their shared objects: speedup, topdown, and what is the same for all.

#include <gmock/gmock.h>

#include <cstdio>
#include <random>

#include "module/loaded_module.h"

namespace attune::fakes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr double kCycles = 1e8;

/// A thread's program on two core types: the IPC of each phase on each, with noise.
class Trace {
 public:
  Trace(uint64_t seed, double noise) : random_(seed), noise_(-noise, noise) {}
  std::vector<double> Counts(double ipc) { return {ipc * kCycles * (1 + noise_(random_)), kCycles}; }

 private:
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> noise_;
};

class SpeedupTest : public ::testing::Test {
 protected:
  SpeedupTest() : module("speedup") {
    module.events = {"instructions", "cycles"};
    module.capacities = {1024, 446};
  }
  LoadedModule::Named Run(const std::vector<double>& counts, int32_t core_type, int32_t tid = 7) {
    t_ns_ += 100 * kMs;
    return module.OnSample(LoadedModule::Thread(tid, t_ns_, core_type), counts);
  }

  LoadedModule module;
  int64_t t_ns_ = 0;
};

TEST(ShippedModules, AreWhatTheInterfaceSays) {
  for (const std::string name : {"speedup", "energy", "resctrl", "topdown", "group"}) {
    LoadedModule module(name);
    EXPECT_EQ(module->size, sizeof(attune_module));
    EXPECT_EQ(module->abi, uint32_t{ATTUNE_MODULE_ABI});
    EXPECT_EQ(module->name, name);
    EXPECT_NE(module->open, nullptr);
    // Without counters and files each says why it cannot work.
    module.root = "/nonexistent";
    EXPECT_FALSE(module.Open()) << name;
    EXPECT_THAT(module.failure, Not(IsEmpty())) << name;
  }
}

TEST(ShippedModules, ExportTheirEntryAlone) {
  for (const std::string name : {"speedup", "energy", "resctrl", "topdown", "group"}) {
    FILE* output = popen(("nm -D --defined-only -f posix " ATTUNE_MODULES "/" + name + ".so").c_str(), "r");
    ASSERT_NE(output, nullptr);
    std::vector<std::string> symbols;
    char line[4096];
    while (fgets(line, sizeof line, output) != nullptr) {
      const std::string text = line;
      symbols.push_back(text.substr(0, text.find(' ')));
    }
    if (pclose(output) != 0) GTEST_SKIP() << "no nm";
    EXPECT_THAT(symbols, ElementsAre("attune_module_entry")) << name;
  }
}

TEST(ShippedModules, RefuseArgumentsThatTheyDoNotKnow) {
  LoadedModule topdown("topdown");
  topdown.argument = "x";
  EXPECT_FALSE(topdown.Open());
  EXPECT_THAT(topdown.failure, HasSubstr("takes no argument"));

  LoadedModule speedup("speedup");
  speedup.events = {"instructions", "cycles"};
  for (const char* argument : {"highest", "highest=", "highest=x", "highest=-1", "highest=nan", "other=1", ","}) {
    speedup.argument = argument;
    EXPECT_FALSE(speedup.Open()) << argument;
  }
  speedup.argument = "highest=4,lowest=0.5";
  EXPECT_TRUE(speedup.Open());
  EXPECT_EQ(speedup.Read("highest"), "4");
}

/// The errors of the factor in 1000 traces, sorted.
std::vector<double> FactorErrors(LoadedModule& module, double noise, int samples) {
  std::vector<double> errors;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    const double small = std::uniform_real_distribution(0.2, 2.0)(random);
    const double truth = std::uniform_real_distribution(1.1, 5.0)(random);
    Trace trace(seed, noise);
    const auto tid = static_cast<int32_t>(seed + 1);
    module.Fork(LoadedModule::Thread(tid));
    LoadedModule::Named values;
    double sums[2]{};
    for (int i = 0; i < samples; ++i) {
      const auto counts = trace.Counts(i % 2 == 0 ? small * truth : small);
      sums[i % 2] += counts[0];
      values = module.OnSample(LoadedModule::Thread(tid, i, i % 2), counts);
    }
    // No sample was taken for one of another phase.
    EXPECT_NEAR(values["speedup"], std::max(1.0, sums[0] / sums[1]), 1e-9);
    EXPECT_EQ(values["phase"], 1);
    EXPECT_EQ(module.Metric(tid, ATTUNE_METRIC_SPEEDUP_FACTOR), values["speedup"]);
    EXPECT_EQ(module.Metric(tid, ATTUNE_METRIC_IPC), values["ipc"]);
    errors.push_back(std::abs(values["speedup"] / truth - 1));
  }
  std::ranges::sort(errors);
  printf(
      "speedup factor after %d samples, 1000 traces with +-%.0f %% noise: error of 99 %% below %.2f %%, worst %.2f "
      "%%\n",
      samples, 100 * noise, 100 * errors[989], 100 * errors.back());
  return errors;
}

TEST_F(SpeedupTest, FactorIsWithinFivePercentAfterTenSamples) {
  ASSERT_TRUE(module.Open());
  EXPECT_LT(FactorErrors(module, 0.03, 10).back(), 0.05);
  // With more noise the means of so few samples have tails: 5 samples on each core type, and 10.
  EXPECT_LT(FactorErrors(module, 0.05, 10)[989], 0.05);
  EXPECT_LT(FactorErrors(module, 0.05, 20)[994], 0.05);
}

TEST_F(SpeedupTest, PhaseChangesAreFoundWithinThreeSamples) {
  ASSERT_TRUE(module.Open());
  int slowest = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    Trace trace(seed, 0.05);
    const auto tid = static_cast<int32_t>(seed + 1);
    double ipc = 1;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(Run(trace.Counts(ipc), 0, tid)["phase"], 1) << seed;
    // Up or down by 40 % or more.
    ipc *= seed % 2 == 0 ? std::uniform_real_distribution(1.4, 4.0)(random)
                         : std::uniform_real_distribution(0.1, 0.6)(random);
    int samples = 0;
    // In the first sample is something of both phases, in half of the traces.
    if (seed % 4 < 2) {
      ++samples;
      Run(trace.Counts((1 + ipc) / 2), 0, tid);
    }
    for (++samples; samples < 20 && Run(trace.Counts(ipc), 0, tid)["phase"] == 1;) ++samples;
    slowest = std::max(slowest, samples);
  }
  printf("phase changes in 1000 traces with +-5 %% noise: found after at most %d samples\n", slowest);
  EXPECT_LE(slowest, 3);
}

TEST_F(SpeedupTest, SteadyTracesHaveOnePhase) {
  ASSERT_TRUE(module.Open());
  int changes = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution noise(1.0, 0.04);
    LoadedModule::Named values;
    for (int i = 0; i < 2000; ++i)
      values = Run({1.5 * kCycles * noise(random), kCycles}, 0, static_cast<int32_t>(seed + 1));
    changes += static_cast<int>(values["phase"]) - 1;
  }
  printf("false phase changes in 40000 samples with a standard deviation of 4 %%: %d\n", changes);
  EXPECT_EQ(changes, 0);
}

TEST_F(SpeedupTest, PhaseSeenBeforeNeedsNoSampling) {
  ASSERT_TRUE(module.Open());
  Trace trace(1, 0.03);
  for (int i = 0; i < 10; ++i) Run(trace.Counts(2.0), 0);
  // On one core type only there is no factor yet.
  EXPECT_EQ(Run(trace.Counts(2.0), 0).count("speedup"), 0u);
  EXPECT_EQ(module.Metric(7, ATTUNE_METRIC_SPEEDUP_FACTOR), std::nullopt);
  for (int i = 0; i < 10; ++i) Run(trace.Counts(1.0), 1);  // phase 1: factor 2
  for (int i = 0; i < 10; ++i) Run(trace.Counts(0.3), 1);  // phase 2, bound by memory: factor 1.2
  for (int i = 0; i < 10; ++i) Run(trace.Counts(0.36), 0);
  EXPECT_NEAR(Run(trace.Counts(0.36), 0)["speedup"], 1.2, 0.06);
  for (int i = 0; i < 3; ++i) Run(trace.Counts(2.0), 0);
  auto values = Run(trace.Counts(2.0), 0);
  EXPECT_EQ(values["phase"], 1);
  EXPECT_NEAR(values["speedup"], 2.0, 0.1);
  for (int i = 0; i < 3; ++i) values = Run(trace.Counts(0.36), 0);
  EXPECT_EQ(values["phase"], 2);
  EXPECT_NEAR(values["speedup"], 1.2, 0.06);
  EXPECT_THAT(module.Dump(), HasSubstr("phase 2 (present): ipc 0.3"));
  EXPECT_THAT(module.Dump(1), Not(HasSubstr("phase")));  // the thread is on CPU 0
  EXPECT_EQ(module.Dump(-1, 8), "1 threa");

  // Another program in the same thread begins anew.
  const auto thread = LoadedModule::Thread(7);
  module->on_exec(module.state, &thread);
  EXPECT_EQ(Run(trace.Counts(0.36), 0)["phase"], 1);
}

TEST_F(SpeedupTest, ColdFirstSampleOnACoreTypeIsForgotten) {
  ASSERT_TRUE(module.Open());
  for (int i = 0; i < 5; ++i) Run({2 * kCycles, kCycles}, 0);
  Run({0.2 * kCycles, kCycles}, 1);  // caches are cold
  LoadedModule::Named values;
  for (int i = 0; i < 4; ++i) values = Run({1 * kCycles, kCycles}, 1);
  EXPECT_EQ(values["phase"], 1);
  EXPECT_NEAR(values["speedup"], 2.0, 0.01);
}

TEST_F(SpeedupTest, TakesKeysWhileItRuns) {
  ASSERT_TRUE(module.Open());
  Run({2 * kCycles, kCycles}, 0);
  EXPECT_DOUBLE_EQ(Run({1 * kCycles, kCycles}, 1)["speedup"], 2);
  EXPECT_EQ(module->configure(module.state, "frequency_ratio", "1.5"), 0);
  EXPECT_DOUBLE_EQ(Run({1 * kCycles, kCycles}, 1)["speedup"], 3);
  EXPECT_EQ(module->configure(module.state, "highest", "2.5"), 0);
  EXPECT_DOUBLE_EQ(Run({1 * kCycles, kCycles}, 1)["speedup"], 2.5);
  EXPECT_EQ(module->configure(module.state, "highest", "many"), -1);
  EXPECT_EQ(module->configure(module.state, "other", "1"), -1);
  EXPECT_EQ(module.Read(""), "frequency_ratio=1.5\nlowest=1\nhighest=2.5\nphase_margin=0.15\n");
  EXPECT_EQ(module.Read("phase_margin"), "0.15");
  EXPECT_EQ(module.Read("other"), "failed");
  char two[2];
  EXPECT_EQ(module->read_configuration(module.state, "", two, sizeof two), -1);
  EXPECT_EQ(module->read_configuration(module.state, "", nullptr, 0), -1);
}

TEST_F(SpeedupTest, OneCoreTypeHasFactorOne) {
  module.capacities = {1024};
  ASSERT_TRUE(module.Open());
  EXPECT_THAT(module.counters, ElementsAre("instructions", "cycles"));
  auto thread = LoadedModule::Thread(7, 0, -1);
  auto values = module.OnSample(thread, {2 * kCycles, kCycles});
  EXPECT_DOUBLE_EQ(values["ipc"], 2);
  EXPECT_DOUBLE_EQ(values["speedup"], 1);
  EXPECT_DOUBLE_EQ(values["phase"], 1);
}

TEST_F(SpeedupTest, NeedsBothCountersAndItsVirtuals) {
  module.events = {"cycles"};
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("does not count instructions and cycles"));
  module.events = {"instructions", "cpu-cycles"};
  module.virtuals_allowed = 2;
  EXPECT_FALSE(module.Open());
  EXPECT_THAT(module.failure, HasSubstr("phase"));
}

TEST_F(SpeedupTest, RemembersSixteenPhases) {
  ASSERT_TRUE(module.Open());
  double ipc = 0.001;
  for (int phase = 0; phase < 40; ++phase, ipc *= 1.5) {
    for (int i = 0; i < 4; ++i) Run({ipc * kCycles, kCycles}, 0);
  }
  const std::string text = module.Dump();
  size_t lines = 0;
  for (size_t at = text.find("  phase"); at != std::string::npos; at = text.find("  phase", at + 1)) ++lines;
  EXPECT_EQ(lines, 16u);
  EXPECT_THAT(text, HasSubstr("phase 40 (present)"));
  EXPECT_THAT(text, Not(HasSubstr("phase 24:")));
}

TEST_F(SpeedupTest, KeepsAtMostSoManyThreads) {
  ASSERT_TRUE(module.Open());
  for (int32_t tid = 1; tid <= 70000; ++tid) Run({2 * kCycles, kCycles}, tid % 2, tid);
  EXPECT_THAT(module.Dump(), HasSubstr("65536 threads"));
  EXPECT_TRUE(module.Metric(65536, ATTUNE_METRIC_IPC).has_value());
  EXPECT_FALSE(module.Metric(65537, ATTUNE_METRIC_IPC).has_value());
  for (int32_t tid = 1; tid <= 70000; ++tid) module.Free(LoadedModule::Thread(tid));
  EXPECT_EQ(module.Dump(), "0 threads\n");
}

TEST(ShippedModules, LiveWithBadSamples) {
  for (const std::string name : {"speedup", "topdown"}) {
    LoadedModule module(name);
    module.events = {"instructions", "cycles", "cache-misses", "cache-references"};
    module.capacities = {1024, 446};
    ASSERT_TRUE(module.Open());
    std::mt19937_64 random(1);
    const std::vector<double> bad{kNothing, INFINITY, -INFINITY, -1, 0, 1e-300, 1e308, 1e6, 5e8};
    const auto any = [&] { return bad[random() % bad.size()]; };
    for (int i = 0; i < 100000; ++i) {
      std::vector<double> counts(random() % 5);
      for (double& count : counts) count = any();
      auto thread = LoadedModule::Thread(static_cast<int32_t>(random() % 100) - 5, static_cast<int64_t>(random()),
                                         static_cast<int32_t>(random() % 9) - 3);
      thread.name = nullptr;
      for (const auto& [counter, value] : module.OnSample(thread, counts, static_cast<int64_t>(random())))
        ASSERT_TRUE(std::isfinite(value)) << counter;
      if (i % 100 == 0) module.Free(thread);
      if (i % 107 == 0) module.Fork(thread);
    }
    EXPECT_EQ(module.Metric(12345, ATTUNE_METRIC_IPC), std::nullopt);
  }
}

TEST(TopDownModule, SharesAndCache) {
  LoadedModule module("topdown");
  module.events = {"slots",           "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound",
                   "LLC-load-misses", "cache-references", "instructions"};
  ASSERT_TRUE(module.Open());
  ASSERT_EQ(module.counters.size(), 8u);
  EXPECT_THAT(module.counters,
              UnorderedElementsAre("slots", "topdown-retiring", "topdown-bad-spec", "topdown-fe-bound",
                                   "topdown-be-bound", "LLC-load-misses", "cache-references", "instructions"));
  const LoadedModule::Named expected{{"retiring", 50},      {"bad-speculation", 10}, {"frontend-bound", 15},
                                     {"backend-bound", 25}, {"llc-mpki", 3},         {"llc-rpki", 20}};
  EXPECT_EQ(module.OnSample(LoadedModule::Thread(7), {1000, 500, 100, 150, 250, 300, 2000, 100000}), expected);
  EXPECT_EQ(module.Metric(7, ATTUNE_METRIC_LLC_MPKI), 3);
  EXPECT_EQ(module.Metric(7, ATTUNE_METRIC_LLC_RPKI), 20);
  EXPECT_EQ(module.Metric(7, ATTUNE_METRIC_IPC), std::nullopt);
  for (const attune_virtual_counter& counter : module.virtuals) {
    const int metric = std::string(counter.name) == "llc-mpki"   ? ATTUNE_METRIC_LLC_MPKI
                       : std::string(counter.name) == "llc-rpki" ? ATTUNE_METRIC_LLC_RPKI
                                                                 : ATTUNE_METRIC_NONE;
    EXPECT_EQ(counter.metric, metric) << counter.name;
  }
  // A share needs all four.
  EXPECT_THAT(module.OnSample(LoadedModule::Thread(7), {1000, 500, kNothing, 150, 250, 300, kNothing, 100000}),
              ElementsAre(std::pair("llc-mpki", 3)));
  EXPECT_THAT(module.OnSample(LoadedModule::Thread(7), {0, 0, 0, 0, 0, 0, 0, 0}), IsEmpty());
}

TEST(TopDownModule, DoesWithWhatThereIs) {
  LoadedModule cache("topdown");
  cache.events = {"slots", "topdown-retiring", "cache-misses", "instructions"};
  ASSERT_TRUE(cache.Open());
  ASSERT_EQ(cache.virtuals.size(), 1u);
  EXPECT_STREQ(cache.virtuals[0].name, "llc-mpki");

  LoadedModule none("topdown");
  none.events = {"cache-misses", "cycles"};
  EXPECT_FALSE(none.Open());
  EXPECT_THAT(none.failure, HasSubstr("neither the slots of top-down nor requests to the last cache"));
}

TEST(GroupModule, MetricsOfGroupsAreVirtualCounters) {
  LoadedModule module("group");
  module.argument = "ipc,scheduler";
  module.events = {"cycles", "instructions", "task-clock", "context-switches", "cpu-migrations"};
  ASSERT_TRUE(module.Open()) << module.failure;
  EXPECT_THAT(module.counters,
              UnorderedElementsAre("cycles", "instructions", "task-clock", "context-switches", "cpu-migrations"))
      << "what both need is counted once";
  std::vector<double> counts;
  for (const std::string& name : module.counters)
    counts.push_back(name == "cycles" ? 2e8 : name == "instructions" ? 5e8 : name == "task-clock" ? 8e7 : 40);
  const LoadedModule::Named values = module.OnSample(LoadedModule::Thread(7), counts);
  const auto value = [&](const std::string& name) {
    for (const auto& [counter, each] : values) {
      if (counter == name) return each;
    }
    return kNothing;
  };
  EXPECT_DOUBLE_EQ(value("IPC"), 2.5);
  EXPECT_DOUBLE_EQ(value("clock"), 2.5) << "GHz";
  EXPECT_DOUBLE_EQ(value("CPUs"), 0.8) << "of 100 ms";
}

TEST(GroupModule, ShortSamplesGoToTheNextOne) {
  LoadedModule module("group");
  module.argument = "scheduler";
  module.events = {"task-clock", "context-switches", "cpu-migrations"};
  ASSERT_TRUE(module.Open()) << module.failure;
  const auto cpus = [&](int tid, double cpu_ms, int64_t interval_ms, int32_t kind = ATTUNE_SAMPLE_TICK) {
    std::vector<double> counts;
    for (const std::string& name : module.counters) counts.push_back(name == "task-clock" ? cpu_ms * 1e6 : 1);
    const auto values = module.OnSample(LoadedModule::Thread(tid), counts, 0, kind, interval_ms * kMs);
    return values.contains("CPUs") ? values.at("CPUs") : kNothing;
  };
  EXPECT_THAT(cpus(7, 0, 9), IsNan()) << "the kernel has accounted for nothing yet";
  EXPECT_DOUBLE_EQ(cpus(7, 18, 11), 0.9);
  EXPECT_DOUBLE_EQ(cpus(7, 50, 100), 0.5) << "each is in one value alone";
  EXPECT_THAT(cpus(7, 10, 1, ATTUNE_SAMPLE_EXIT), IsNan());
  EXPECT_DOUBLE_EQ(cpus(8, 1, 2, ATTUNE_SAMPLE_EXIT), 0.5) << "a thread that lived for 2 ms";
}

TEST(GroupModule, DoesWithWhatThereIs) {
  LoadedModule module("group");
  module.argument = "ipc";
  module.events = {"cycles", "task-clock"};
  ASSERT_TRUE(module.Open()) << module.failure;
  ASSERT_EQ(module.virtuals.size(), 1u);
  EXPECT_STREQ(module.virtuals[0].name, "clock");

  LoadedModule none("group");
  none.argument = "ipc";
  EXPECT_FALSE(none.Open());
  EXPECT_THAT(none.failure, HasSubstr("does not count cycles, instructions"));
  none.argument = "ipcc";
  EXPECT_FALSE(none.Open());
  EXPECT_THAT(none.failure, HasSubstr("ipc"));
}

}  // namespace
}  // namespace attune::fakes
