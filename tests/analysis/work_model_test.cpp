#include "analysis/work/work_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune::analysis::work_model_test {
namespace {

constexpr double kMs = 1e6;
constexpr int64_t kAges = 20;

/// A graph that is built step by step; times of kernels are of an age.
class WorkModelTest : public testing::Test {
 protected:
  WorkKernel& Kernel(const std::string& name, double age_ms, int64_t ranges, int64_t ages = kAges) {
    graph_.kernels.push_back({.name = name,
                              .instances = ranges * ages,
                              .ages = ages,
                              .ranges = ranges * ages,
                              .body_ns = age_ms * kMs * static_cast<double>(ages)});
    return graph_.kernels.back();
  }
  WorkData& Uses(const std::string& kernel, const std::string& field, bool is_store, int64_t age = 0) {
    graph_.data.push_back({.kernel = kernel, .field = field, .is_store = is_store, .has_age = true, .age = age});
    return graph_.data.back();
  }
  void Stores(const std::string& kernel, const std::string& field, int64_t age = 0) { Uses(kernel, field, true, age); }
  void Fetches(const std::string& kernel, const std::string& field, int64_t age = 0) {
    Uses(kernel, field, false, age);
  }
  /// @param wall_ms as it would be measured
  WorkForecast Made(int64_t threads, double wall_ms) {
    graph_.threads = threads;
    graph_.wall_ns = wall_ms * kMs;
    return Forecast(graph_).value_or(WorkForecast{});
  }
  /// In ms.
  static double GainOf(const WorkForecast& forecast, const std::string& kernel) {
    for (const auto& [name, gain_ns] : forecast.kernels) {
      if (name == kernel) return gain_ns / kMs;
    }
    return -1;
  }

  WorkGraph graph_;
};

TEST_F(WorkModelTest, ThreadsThatAlwaysHaveWorkAreBoundByAllOfIt) {
  Kernel("long", 30, 100);
  Kernel("short", 10, 100);
  Stores("long", "f");
  Fetches("short", "f");
  const WorkForecast forecast = Made(2, 400);
  EXPECT_NEAR(forecast.modelled_ns, 400 * kMs, 8 * kMs);
  EXPECT_TRUE(forecast.Fits());
  EXPECT_LT(forecast.idle, 0.03);
  EXPECT_EQ(forecast.kernels[0].name, "long");
  EXPECT_NEAR(GainOf(forecast, "long"), 150, 8);
  EXPECT_NEAR(GainOf(forecast, "short"), 50, 8);
  EXPECT_NEAR(forecast.threads_gain_ns, 200 * kMs, 8 * kMs);
}

TEST_F(WorkModelTest, AChainOfAgesRunsOneAfterTheOther) {
  Kernel("step", 5, 1);
  Stores("step", "state", 1);
  Fetches("step", "state");
  const WorkForecast forecast = Made(4, 100);
  EXPECT_NEAR(forecast.modelled_ns, 100 * kMs, 1);
  EXPECT_NEAR(forecast.idle, 0.75, 0.01);
  EXPECT_NEAR(GainOf(forecast, "step"), 50, 0.1);
  EXPECT_EQ(forecast.threads_gain_ns, 0);
}

TEST_F(WorkModelTest, OnlyTheLongerOfTwoBranchesGains) {
  Kernel("split", 0.1, 1).is_ordered = true;
  Kernel("long", 10, 1);
  Kernel("short", 6, 1);
  Kernel("join", 0.1, 1);
  Stores("split", "in");
  Fetches("split", "done", -1);
  for (const char* branch : {"long", "short"}) {
    Fetches(branch, "in");
    Stores(branch, branch);
    Fetches("join", branch);
  }
  Stores("join", "done");
  const WorkForecast forecast = Made(2, 204);
  EXPECT_NEAR(forecast.modelled_ns, 204 * kMs, 0.1 * kMs);
  EXPECT_NEAR(GainOf(forecast, "long"), 80, 0.1) << "then the other one is the longer";
  EXPECT_NEAR(GainOf(forecast, "short"), 0, 0.1);
}

TEST_F(WorkModelTest, AnOrderedSourceStarvesTheOthers) {
  Kernel("read", 10, 1).is_ordered = true;
  Kernel("encode", 8, 16);
  Stores("read", "frame");
  Fetches("encode", "frame");
  const WorkForecast forecast = Made(4, 202);
  EXPECT_NEAR(forecast.modelled_ns, 202 * kMs, 2 * kMs) << "the last age's encoding comes on top";
  EXPECT_NEAR(GainOf(forecast, "read"), 100, 3);
  EXPECT_LT(GainOf(forecast, "encode"), 2);
}

TEST_F(WorkModelTest, ASourceThatRunsAheadIsWorkToo) {
  Kernel("read", 1, 1, 300).is_ordered = true;
  Kernel("encode", 2, 100, 300);
  Stores("read", "frame");
  Fetches("encode", "frame");
  const WorkForecast forecast = Made(2, 450);
  EXPECT_NEAR(forecast.modelled_ns, 450 * kMs, 5 * kMs) << "at the pace of both, however far the source is ahead";
  EXPECT_NEAR(GainOf(forecast, "encode"), 150, 5);
}

TEST_F(WorkModelTest, ALongRangeHoldsUpItsAge) {
  WorkKernel& uneven = Kernel("uneven", 16, 16);
  uneven.longest_ns = 10 * kMs * kAges;
  Stores("uneven", "state", 1);
  Fetches("uneven", "state");
  const WorkForecast forecast = Made(4, 240);
  EXPECT_GT(forecast.modelled_ns, 200 * kMs) << "its longest range";
  EXPECT_NEAR((forecast.modelled_ns - forecast.imbalance_gain_ns * forecast.modelled_ns / forecast.measured_ns) / kMs,
              80, 1)
      << "16 ms on four threads";
}

TEST_F(WorkModelTest, DispatchIsPartOfTheWork) {
  Kernel("tiny", 2, 64).dispatch_ns = 6 * kMs * kAges;
  const WorkForecast forecast = Made(2, 80);
  EXPECT_NEAR(forecast.modelled_ns, 80 * kMs, kMs);
  EXPECT_NEAR(forecast.dispatch_gain_ns, 60 * kMs, kMs);
}

TEST_F(WorkModelTest, StreamedElementsDoNotWaitForTheWholeAge) {
  Kernel("make", 20, 4, 1);
  Kernel("take", 4, 4, 1);
  Stores("make", "f");
  Fetches("take", "f");
  EXPECT_NEAR(Made(3, 12).modelled_ns, 12 * kMs, 1) << "the fourth is made alone, then two rounds";
  graph_.data.back().is_streamed = true;
  EXPECT_NEAR(Made(3, 11).modelled_ns, 11 * kMs, 1) << "three are taken meanwhile";
}

TEST_F(WorkModelTest, AStreamedElementNeedsTheSameOneOfTheAgeBefore) {
  WorkKernel& uneven = Kernel("uneven", 16, 16);
  uneven.longest_ns = 10 * kMs * kAges;
  Stores("uneven", "state", 1);
  Uses("uneven", "state", false).is_streamed = true;
  const WorkForecast forecast = Made(4, 200);
  EXPECT_NEAR(forecast.modelled_ns, 200 * kMs, 2 * kMs) << "the long one of each age, and the others beside it";
}

TEST_F(WorkModelTest, AKernelMayBeLimited) {
  Kernel("parse", 40, 100, 1);
  WorkKernel& write = Kernel("write", 50, 100, 1);
  graph_.data = {{.kernel = "parse", .field = "f", .is_store = true}, {.kernel = "write", .field = "f"}};
  EXPECT_NEAR(Made(4, 23).modelled_ns, 23 * kMs, kMs);
  write.at_once = 1;
  const WorkForecast forecast = Made(4, 51);
  EXPECT_NEAR(forecast.modelled_ns, 51 * kMs, kMs) << "one after the other, while the rest is parsed";
  EXPECT_EQ(forecast.kernels[0].name, "write");
}

TEST_F(WorkModelTest, AnInitialAgeComesFromAnotherKernel) {
  Kernel("init", 7, 1, 1);
  Uses("init", "m", true).is_fixed = true;
  Kernel("step", 1, 1);
  Fetches("step", "m");
  Stores("step", "m", 1);
  EXPECT_NEAR(Made(2, 27).modelled_ns, 27 * kMs, 1);
}

TEST_F(WorkModelTest, LongRunsGoOnAsTheyDid) {
  Kernel("step", 1, 8, 100'000);
  Stores("step", "state", 1);
  Fetches("step", "state");
  EXPECT_NEAR(Made(4, 25'000).modelled_ns, 25'000 * kMs, 10 * kMs);
}

TEST_F(WorkModelTest, NothingIsForecastOfWhatIsNotTold) {
  Kernel("a", 1, 1);
  EXPECT_FALSE(Forecast(graph_)) << "no threads, no time";
  Fetches("a", "f");
  Stores("a", "f", -1);
  EXPECT_EQ(Made(1, 20).modelled_ns, 0) << "an age needs the next one: it cannot run";
  graph_.data.clear();
  EXPECT_FALSE(Made(1, 200).Fits()) << "ten times the model";
}

}  // namespace
}  // namespace attune::analysis::work_model_test
