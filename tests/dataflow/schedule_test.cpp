// The scheduler's rules and what it records; counts, times and tables.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "dataflow/runtime/deque.h"
#include "dataflow/schedule/granularity.h"
#include "dataflow/schedule/meter.h"
#include "golden.h"

namespace attune::flow::test {
namespace {

using detail::Granularity;
using testing::HasSubstr;

TEST(Granularity, TakesSoManyThatDispatchIsOnePercent) {
  EXPECT_EQ(Granularity::GrainFor(30, 1, 0, 1), 3000);
  EXPECT_EQ(Granularity::GrainFor(30, 3000, 0, 1), 1);
  EXPECT_EQ(Granularity::GrainFor(1e12, 0.1, 0, 1), 1 << 16);
}

TEST(Granularity, LeavesEachWorkerSeveralRanges) {
  EXPECT_EQ(Granularity::GrainFor(30, 10, 300, 4), 300);       // 3 us in all: not worth sharing
  EXPECT_EQ(Granularity::GrainFor(30, 100, 6400, 4), 30);      // the dispatch says so
  EXPECT_EQ(Granularity::GrainFor(300, 10, 64'000, 4), 2000);  // 3000 would be too few ranges
  EXPECT_EQ(Granularity::GrainFor(30, 1e6, 10, 4), 1);
}

TEST(Granularity, PoliciesAreParsed) {
  detail::Policy policy;
  std::string problem;
  ASSERT_TRUE(detail::ParsePolicy("guided", &policy, &problem));
  EXPECT_TRUE(policy.guided);
  ASSERT_TRUE(detail::ParsePolicy("off", &policy, &problem));
  EXPECT_EQ(policy.grain, 1);
  EXPECT_FALSE(policy.guided);
  ASSERT_TRUE(detail::ParsePolicy("fixed:64,fuse:a+b,fuse:b+c", &policy, &problem));
  EXPECT_EQ(policy.grain, 64);
  ASSERT_EQ(policy.fused.size(), 2U);
  EXPECT_EQ(policy.fused[1], std::pair(std::string("b"), std::string("c")));
  for (const char* wrong : {"fixed:", "fixed:x", "fixed:-1", "fuse:a", "grain", "off,fixed:1x"}) {
    problem.clear();
    EXPECT_FALSE(detail::ParsePolicy(wrong, &policy, &problem)) << wrong;
    EXPECT_FALSE(problem.empty());
  }
}

void FeedSamples(Granularity* granularity, int kernel, detail::Meter* meter, double dispatch_ns, double body_ns,
                 int samples) {
  for (int i = 0; i < samples; ++i) {
    ++meter->samples;
    meter->dispatch_ns = dispatch_ns;
    meter->body_ns = body_ns;
    granularity->Sampled(kernel, meter, 2, 1000 + i);
  }
}

TEST(Granularity, DecidesAndDecidesAgain) {
  detail::Policy policy;
  policy.guided = true;
  Granularity granularity(policy, {"first", "second"}, {{0, 1}});
  granularity.AgeHas(0, 100'000);
  granularity.AgeHas(1, 100'000);
  detail::Meter first, second;
  FeedSamples(&granularity, 0, &first, 50, 10, 16);
  EXPECT_EQ(granularity.Grain(0), 500);
  FeedSamples(&granularity, 1, &second, 50, 10, 16);
  EXPECT_TRUE(granularity.RunsBehind(1));
  EXPECT_EQ(granularity.FusedInto(1), "first");
  // It becomes slow: smaller ranges, and no more behind the other.
  FeedSamples(&granularity, 1, &second, 50, 100'000, 100);
  EXPECT_FALSE(granularity.RunsBehind(1));
  EXPECT_EQ(granularity.Grain(1), 1);
  const auto decisions = granularity.Decisions();
  ASSERT_GE(decisions.size(), 5U);
  EXPECT_EQ(decisions[0].kernel, "first");
  EXPECT_EQ(decisions[0].change, "grain 1 -> 500");
  EXPECT_THAT(decisions[0].reason,
              HasSubstr("dispatch 50 ns a range, body 10.0 ns an instance, 100000 instances an age, 2 workers"));
  EXPECT_DOUBLE_EQ(decisions[0].dispatch_ns_before, 50);
  EXPECT_DOUBLE_EQ(decisions[0].dispatch_ns_after, 0.1);
  const auto said = [&decisions](const std::string& change) {
    return std::any_of(decisions.begin(), decisions.end(),
                       [&](const Decision& each) { return each.change == change && !each.reason.empty(); });
  };
  EXPECT_TRUE(said("fuse first + second"));
  EXPECT_TRUE(said("split first + second"));
}

TEST(Granularity, AFixedPolicyDoesNotChange) {
  detail::Policy policy;
  policy.grain = 7;
  Granularity granularity(policy, {"first"}, {});
  detail::Meter meter;
  FeedSamples(&granularity, 0, &meter, 50, 10, 100);
  EXPECT_EQ(granularity.Grain(0), 7);
  EXPECT_TRUE(granularity.Decisions().empty());
}

/// The dispatch of brief instances is what they take one after the other, less their bodies.
TEST(Meter, DispatchOfBriefInstancesIsTheRestOfWhatTheyTake) {
  const detail::TickRate rate;
  const auto ticks = [&rate](double ns) { return static_cast<uint64_t>(rate.Ticks(ns)); };
  const auto reading = static_cast<uint64_t>(rate.tick_cost());
  detail::Meter meter;
  const auto add = [&](int64_t instances, double body_ns, double dispatch_ns, const detail::Untimed& untimed) {
    const uint64_t body = ticks(body_ns * static_cast<double>(instances)) + reading;
    detail::AddSample(&meter, rate, {instances, body + ticks(dispatch_ns) + 2 * reading, body, 1}, untimed);
  };
  // Alone, they seem to be dispatched at no cost.
  for (int i = 0; i < 8; ++i) add(1, 40, 0, {});
  EXPECT_LT(meter.dispatch_ns, 1);
  ASSERT_TRUE(detail::IsBrief(meter));
  for (int i = 0; i < 100; ++i) add(detail::kTimedTogether, 40, 0, {ticks(1000 * 65), 1000, 1000});
  EXPECT_NEAR(meter.body_ns, 40, 1);
  EXPECT_NEAR(meter.dispatch_ns, 25, 1);
  // An interruption of 1 ms.
  add(detail::kTimedTogether, 40, 0, {ticks(1000 * 65 + 1e6), 1000, 1000});
  EXPECT_LT(meter.dispatch_ns, 40);
  // Ranges of many instances: their own dispatch is measured.
  for (int i = 0; i < 100; ++i) add(1000, 40, 50, {ticks(40'050 * 100), 100, 100'000});
  EXPECT_NEAR(meter.dispatch_ns, 50, 1);
}

TEST(Schedule, GuidedTakesTinyInstancesTogether) {
  Golden golden(20'000);
  golden.Print();
  const Report report = golden.graph.Run({.threads = 2, .until = 50});
  ASSERT_TRUE(report.ok());
  const KernelCost& mul2 = *report.Find("mul2");
  EXPECT_EQ(mul2.instances, 20'000 * 51);
  EXPECT_GT(mul2.grain, 8);
  EXPECT_LT(mul2.ranges, mul2.instances / 8);
  EXPECT_FALSE(report.decisions.empty());
}

TEST(Schedule, OffDispatchesEachAlone) {
  Golden golden(1000);
  golden.Print();
  const Report untimed = golden.graph.Run({.threads = 2, .until = 10, .scheduler = "off", .timing = false});
  EXPECT_EQ(untimed.Find("mul2")->ranges, untimed.Find("mul2")->instances);
  // But for those that are timed together.
  const Report report = golden.graph.Run({.threads = 2, .until = 10, .scheduler = "off"});
  EXPECT_GT(report.Find("mul2")->ranges, report.Find("mul2")->instances - report.Find("mul2")->timed);
  EXPECT_TRUE(report.decisions.empty());
  const Report fixed = golden.graph.Run({.threads = 1, .until = 10, .scheduler = "fixed:100"});
  EXPECT_LE(fixed.Find("mul2")->ranges, 11 * (10 + 10));
}

/// A range of instances with two index variables is a loop over rows, and the body's time is that in all of them.
TEST(Schedule, BodiesOfAllRowsOfARangeAreTimed) {
  using namespace vars;
  Graph graph;
  auto points = graph.AddConstant<int>("points");
  auto table = graph.AddField<int, 2>("table");
  graph.AddKernel("init", Store(points), [](Out<int, 1>& out) {
    for (int i = 0; i < 1000; ++i) out.put(i, i);
  });
  graph.AddKernel("pairs", Fetch(points[x], points[y]), Store(table(0)[x][y]), kEffects, [](int one, int other) {
    for (int i = 0; i < 50; ++i) __asm__ volatile("" : "+r"(one));
    return one + other;
  });
  const Report report = graph.Run({.threads = 1, .scheduler = "fixed:20000"});
  ASSERT_TRUE(report.ok()) << report.Describe();
  EXPECT_GT(report.Find("pairs")->kernel_ns, 4 * report.Find("pairs")->dispatch_ns);
}

TEST(Schedule, TimesAreSampledAndScaled) {
  Golden golden(1000);
  golden.Print();
  RunningGraph run = golden.graph.Start({.threads = 2, .until = 100, .scheduler = "off"});
  const Report& report = run.Wait();
  const KernelCost& mul2 = *report.Find("mul2");
  EXPECT_EQ(mul2.ages, 101);
  EXPECT_GT(mul2.timed, 100);
  EXPECT_LT(mul2.timed, mul2.instances / 10);
  EXPECT_GT(mul2.kernel_ns, 0);
  EXPECT_GT(mul2.dispatch_ns, 0);
  EXPECT_DOUBLE_EQ(mul2.bytes_in(), 4.0 * 101'000);
  EXPECT_DOUBLE_EQ(mul2.bytes_out(), 4.0 * 101'000);
  EXPECT_DOUBLE_EQ(report.Find("init")->bytes_out(), 4.0 * 1000);  // by Out
  int64_t in_histogram = 0;
  for (const int64_t count : mul2.histogram) in_histogram += count;
  EXPECT_EQ(in_histogram, mul2.timed);
  EXPECT_LE(mul2.Quantile(0.5), mul2.Quantile(0.99));
}

TEST(Schedule, TimingCanBeSwitchedOffAndOn) {
  Golden golden(100);
  golden.Print();
  Report off = golden.graph.Run({.threads = 1, .until = 100, .scheduler = "off", .timing = false});
  EXPECT_EQ(off.Find("mul2")->timed, 0);
  EXPECT_EQ(off.Find("mul2")->instances, 10'100);

  using namespace vars;
  Golden long_one(100);
  std::atomic<int64_t> age = 0;
  long_one.graph.AddKernel("age", Fetch(long_one.m(a)),
                           [&age](auto& instance, View<int32_t, 1>) { age = instance.Age(); });
  RunningGraph run = long_one.graph.Start({.threads = 1, .timing = false});
  const auto wait_for_more = [&age] {
    for (const int64_t now = age; age < now + 500;) std::this_thread::yield();
  };
  wait_for_more();
  EXPECT_EQ(run.Costs().at(1).timed, 0);
  run.SetTiming(true);
  wait_for_more();
  EXPECT_GT(run.Costs().at(1).timed, 0);
}

TEST(Schedule, SnapshotsWithAndWithoutReset) {
  using namespace vars;
  Golden golden(100);
  std::atomic<int64_t> age = 0;
  golden.graph.AddKernel("age", Fetch(golden.m(a)), [&age](auto& instance, View<int32_t, 1>) { age = instance.Age(); });
  RunningGraph run = golden.graph.Start({.threads = 2});
  const auto wait_for_more = [&age] {
    for (const int64_t now = age; age < now + 200;) std::this_thread::yield();
  };
  wait_for_more();
  const int64_t first = run.CostsSinceLast().at(1).instances;
  wait_for_more();
  const int64_t second = run.CostsSinceLast().at(1).instances;
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
  run.Cancel();
  const int64_t rest = (run.Wait(), run.CostsSinceLast().at(1).instances);
  EXPECT_EQ(first + second + rest, run.Wait().Find("mul2")->instances);
}

TEST(Schedule, Tables) {
  Golden golden;
  golden.Print();
  const Report report = golden.graph.Run({.threads = 1, .until = 4});
  EXPECT_THAT(report.ThesisTable(), HasSubstr("Kernel  Instances  Dispatch Time  Kernel Time\n"));
  EXPECT_THAT(report.ThesisTable(), testing::ContainsRegex("\nmul2 +25 +[0-9.]+ us +[0-9.]+ us\n"));
  EXPECT_THAT(report.Table(), testing::ContainsRegex("\nplus5 +20 +4 "));
  EXPECT_EQ(report.Describe(), "done");
}

TEST(Deque, EveryTaskIsTakenOnce) {
  detail::Deque deque;
  constexpr int64_t kTasks = 200'000;
  std::vector<std::atomic<int>> taken(kTasks);
  std::atomic<bool> done = false;
  std::vector<std::thread> thieves;
  for (int t = 0; t < 3; ++t) {
    thieves.emplace_back([&] {
      detail::Task task;
      while (!done) {
        if (deque.Steal(&task)) ++taken[static_cast<size_t>(task.begin)];
      }
    });
  }
  detail::Task task;
  for (int64_t i = 0; i < kTasks;) {
    if (deque.Push({nullptr, i, i + 1})) ++i;
    if (i % 3 == 0 && deque.Pop(&task)) ++taken[static_cast<size_t>(task.begin)];
  }
  while (deque.Pop(&task)) ++taken[static_cast<size_t>(task.begin)];
  done = true;
  for (auto& thief : thieves) thief.join();
  for (int64_t i = 0; i < kTasks; ++i) ASSERT_EQ(taken[static_cast<size_t>(i)], 1) << i;
}

}  // namespace
}  // namespace attune::flow::test
