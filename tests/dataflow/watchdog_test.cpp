// Time limit of instances.

#include "dataflow/runtime/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "golden.h"

namespace attune::flow::test {
namespace {

using namespace vars;
using namespace std::chrono_literals;
using detail::Patience;
using detail::Running;
using testing::ElementsAre;

constexpr int64_t kLimit = 1000;
constexpr int64_t kPeriod = 100;

TEST(Watchdog, AnInstanceThatStaysTheSameIsLate) {
  detail::KernelAge instances;
  Running idle, busy;
  Patience patience(kLimit, kPeriod);
  const std::vector<const Running*> cells = {&idle, nullptr, &busy};
  busy.Begin(0, instances, 7);
  for (int64_t now = 0; now < kLimit; now += kPeriod) EXPECT_EQ(patience.Check(cells, now), -1) << now;
  EXPECT_EQ(patience.Check(cells, kLimit), 2);
}

TEST(Watchdog, ManyInstancesOfARangeAreNotOne) {
  detail::KernelAge instances;
  Running cell;
  Patience patience(kLimit, kPeriod);
  std::atomic<int64_t>* progress = cell.Begin(0, instances, 0);
  for (int64_t now = 0; now < 10 * kLimit; now += kPeriod) {
    EXPECT_EQ(patience.Check({&cell}, now), -1) << now;
    if (now % (5 * kPeriod) == 0) progress->store(now);
  }
}

TEST(Watchdog, RangesThatBeginWithTheSameInstanceAreNotOne) {
  detail::KernelAge instances;
  Running cell;
  Patience patience(kLimit, kPeriod);
  for (int64_t now = 0; now < 10 * kLimit; now += kPeriod) {
    if (now % (5 * kPeriod) == 0) {
      if (now > 0) cell.End();
      cell.Begin(3, instances, 42);
    }
    EXPECT_EQ(patience.Check({&cell}, now), -1) << now;
  }
}

TEST(Watchdog, AProcessThatWasStoppedForAWhileIsNotLate) {
  detail::KernelAge instances;
  Running cell;
  Patience patience(kLimit, kPeriod);
  cell.Begin(0, instances, 0);
  EXPECT_EQ(patience.Check({&cell}, 0), -1);
  EXPECT_EQ(patience.Check({&cell}, kPeriod), -1);
  EXPECT_EQ(patience.Check({&cell}, 1000 * kLimit), -1) << "the watchdog did not run meanwhile either";
}

TEST(Watchdog, TheIndexFollowsFromTheNumber) {
  detail::KernelAge instances;
  instances.age = 5;
  instances.low[0] = 10;
  instances.low[1] = 1;
  instances.count[0] = 4;
  instances.count[1] = 3;
  Running cell;
  cell.Begin(2, instances, 3 * 3 + 2);
  const detail::InstanceId id = cell.Id();
  EXPECT_EQ(id.kernel, 2);
  EXPECT_EQ(id.age, 5);
  EXPECT_EQ(id.index[0], 13);
  EXPECT_EQ(id.index[1], 3);
}

TEST(Watchdog, DurationsAreTexts) {
  EXPECT_EQ(detail::DurationText(2'000'000'000), "2 s");
  EXPECT_EQ(detail::DurationText(1'500'000'000), "1500 ms");
  EXPECT_EQ(detail::DurationText(120'000'000'000), "2 min");
  EXPECT_EQ(detail::DurationText(40'000'000), "40 ms");
  EXPECT_EQ(detail::DurationText(1), "1 ns");
}

/// Waits in the instance of age 2 and index 42 until the watchdog has noticed.
struct Hanging {
  Golden golden{100};
  std::atomic<bool> hangs = false;
  std::atomic<bool> noticed = false;
  Error error;

  RunOptions Options(const std::string& scheduler) {
    return {
        .threads = 2, .until = 5, .scheduler = scheduler, .kernel_timeout = 1s, .timed_out = [this](const Error& late) {
          error = late;
          noticed = true;
        }};
  }
  Hanging() {
    golden.graph.AddKernel("hang", Fetch(golden.p(a)[x]), [this](auto& instance, int32_t) {
      if (instance.Age() != 2 || instance.Index() != 42) return;
      hangs = true;
      while (!noticed) std::this_thread::sleep_for(1ms);
    });
  }
};

TEST(Watchdog, NamesTheInstanceWhateverRunsTogether) {
  for (const char* scheduler : {"guided", "off", "fixed:64"}) {
    Hanging it;
    const Report report = it.golden.graph.Run(it.Options(scheduler));
    EXPECT_EQ(report.outcome, Outcome::kTimedOut);
    EXPECT_EQ(report.ExitCode(), 4);
    EXPECT_EQ(report.error.kind, ErrorKind::kTimeout);
    EXPECT_EQ(report.error.kernel, "hang");
    EXPECT_EQ(report.error.age, 2);
    EXPECT_THAT(report.error.index, ElementsAre(42));
    EXPECT_EQ(report.error.what, "kernel 'hang', age 2, index [42]: runs for more than 1 s");
    EXPECT_EQ(report.Describe(), "timed out: " + report.error.what);
    EXPECT_EQ(it.error.what, report.error.what);
  }
}

TEST(Watchdog, ACancelledRunThatAnInstanceHoldsUpHasTheLimit) {
  Hanging it;
  RunningGraph run = it.golden.graph.Start(it.Options("guided"));
  while (!it.hangs) std::this_thread::sleep_for(1ms);
  run.Cancel();
  EXPECT_EQ(run.Wait().outcome, Outcome::kCancelled);
}

TEST(Watchdog, AnAlternateThatHangsIsNamed) {
  Graph graph;
  auto in = graph.AddField<int>("in");
  auto out = graph.AddField<int>("out");
  std::atomic<bool> noticed = false;
  const auto wait = [&noticed](int v) {
    while (!noticed) std::this_thread::sleep_for(1ms);
    return v;
  };
  graph.AddKernel("in", Store(in(0)), [](Out<int, 1>& values) { values.put(1, 0); });
  graph.AddKernel("late", Fetch(in(a)[x]), Store(out(a)[x]), Deadline(5ms, wait), wait);
  graph.AddKernel("use", Fetch(out(a)), [](View<int, 1>) {});
  const Report report = graph.Run(
      {.threads = 1, .until = 0, .kernel_timeout = 30ms, .timed_out = [&noticed](const Error&) { noticed = true; }});
  EXPECT_EQ(report.outcome, Outcome::kTimedOut);
  EXPECT_EQ(report.error.kernel, "late");
}

TEST(Watchdog, ALimitThatIsKeptChangesNothing) {
  Golden golden(5000), limited(5000);
  golden.Print();
  limited.Print();
  const Report expected = golden.graph.Run({.threads = 2, .until = 30, .checksum = true});
  const Report report = limited.graph.Run({.threads = 2, .until = 30, .checksum = true, .kernel_timeout = 10s});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_EQ(report.fields[0].checksum, expected.fields[0].checksum);
  EXPECT_EQ(report.Find("mul2")->instances, expected.Find("mul2")->instances);
  EXPECT_EQ(limited.printed_p, golden.printed_p);
}

TEST(WatchdogDeathTest, WithoutAHandlerTheProcessEnds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [] {
    Graph graph;
    graph.AddKernel("for_ever", Range(x, 3), [](auto& instance) {
      while (instance.Index() == 1) ::pause();
    });
    graph.Run({.threads = 1, .kernel_timeout = 20ms});
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(4),
              "attune::flow: timed out: kernel 'for_ever', index \\[1\\]: runs for more than 20 ms");
}

}  // namespace
}  // namespace attune::flow::test
