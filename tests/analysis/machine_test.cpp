#include "analysis/report/machine.h"

#include <gtest/gtest.h>

#include "tests/analysis/fake_source.h"

namespace attune::analysis::machine_test {
namespace {

using model::ElementKind;
using model::SeriesKind;

constexpr int64_t kMs = 1'000'000;

class Machine : public testing::Test {
 protected:
  MachineSummary Read() {
    const auto by = MakeMachineOperator();
    Operator* const operators[] = {by.get()};
    EXPECT_TRUE(FeedRows(source, operators).ok());
    return by->Finish();
  }
  FakeSource source;
  model::ElementId machine = source.AddElement(ElementKind::kMachine, "box");
};

TEST_F(Machine, CpuTimeBecomesShares) {
  // CPUs 0 and 4 (ids are sparse). CPU 0 is busy throughout, CPU 4 is idle for the first second and waits in the next.
  const model::ElementId cpu0 = source.AddElement(ElementKind::kCpu, "cpu0", machine, 0);
  const model::ElementId cpu4 = source.AddElement(ElementKind::kCpu, "cpu4", machine, 4);
  std::vector<FakeSource::Signal> signals;
  for (const model::ElementId cpu : {cpu0, cpu4}) {
    for (const char* kind : {"user", "system", "idle", "iowait", "guest"})
      signals.push_back({cpu, "cpu", kind, "ns", SeriesKind::kCounter, 7});  // ticks of 10 ms
  }
  const model::StreamId stream = source.AddStream(100 * kMs, signals);
  std::vector<int64_t> now(10, 1000);
  for (int i = 0; i <= 20; ++i) {
    source.samples[stream].push_back({i * 100 * kMs, now});
    now[0] += 8;                // CPU 0: user
    now[1] += 2;                // CPU 0: system
    now[4] += 8;                // guest time is in user already
    now[i < 10 ? 7 : 8] += 10;  // CPU 4: idle, then iowait
  }
  const MachineSummary summary = Read();
  ASSERT_EQ(summary.cpus.size(), 2u);
  EXPECT_EQ(summary.cpus[1].cpu, 4);
  EXPECT_NEAR(summary.cpus[0].shares.user, 0.8, 1e-9);
  EXPECT_NEAR(summary.cpus[0].shares.Busy(), 1.0, 1e-9);
  EXPECT_NEAR(summary.cpus[1].shares.idle, 0.5, 1e-9);
  EXPECT_NEAR(summary.cpus[1].shares.iowait, 0.5, 1e-9);
  EXPECT_NEAR(summary.cpus[1].idle_while_others_busy, 1.0, 1e-9);
  EXPECT_NEAR(summary.cpus[0].idle_while_others_busy, 0.0, 1e-9);
  EXPECT_NEAR(summary.all.Busy(), 0.5, 1e-9);
  EXPECT_NEAR(summary.measured_s, 2.0, 1e-9);
}

TEST_F(Machine, CountersGrowAndResetsAreNoSpikes) {
  const model::StreamId stream = source.AddStream(
      500 * kMs,
      {{machine, "vmstat", "pgfault", "faults"}, {machine, "vmstat", "nr_free_pages", "pages", SeriesKind::kGauge}});
  source.samples[stream] = {
      {0, {100, 7}},          {500 * kMs, {150, 9}}, {1000 * kMs, {model::kAbsent, model::kAbsent}},
      {1500 * kMs, {350, 5}}, {2000 * kMs, {10, 5}},  // it began again
      {2500 * kMs, {30, 4}}};
  const MachineSummary summary = Read();
  const MachineSignal* faults = summary.Find("vmstat.pgfault");
  ASSERT_NE(faults, nullptr);
  EXPECT_DOUBLE_EQ(faults->total, 50 + 200 + 20);
  EXPECT_DOUBLE_EQ(faults->mean, 270 / 2.5);
  EXPECT_DOUBLE_EQ(faults->high, 400);
  EXPECT_DOUBLE_EQ(faults->low, 0);
  EXPECT_EQ(faults->resets, 1);
  const MachineSignal* free = summary.Find("vmstat.nr_free_pages");
  ASSERT_NE(free, nullptr);
  EXPECT_FALSE(free->is_rate);
  EXPECT_DOUBLE_EQ(free->low, 4);
  EXPECT_DOUBLE_EQ(free->high, 9);
  EXPECT_DOUBLE_EQ(free->mean, 6);
}

TEST_F(Machine, AFamilyIsSummedAndUnknownSignalsAreLeftOut) {
  const model::StreamId stream = source.AddStream(100 * kMs, {{machine, "vmstat", "allocstall_dma", "stalls"},
                                                              {machine, "vmstat", "allocstall_normal", "stalls"},
                                                              {machine, "vmstat", "something_else", "1"},
                                                              {machine, "energy", "pgfault", "1"}});
  source.samples[stream] = {{0, {0, 0, 0, 0}}, {1000 * kMs, {3, 4, 99, 99}}};
  const MachineSummary summary = Read();
  ASSERT_EQ(summary.signals.size(), 1u);
  EXPECT_EQ(summary.signals[0].name, "vmstat.allocstall_*");
  EXPECT_DOUBLE_EQ(summary.signals[0].total, 7);
}

TEST_F(Machine, ASeriesGoesOnInTheStreamOfItsNextInterval) {
  const model::StreamId first = source.AddStream(1000 * kMs, {{machine, "cpu", "forks", "tasks"}});
  model::Stream second = source.meta.streams.front();
  second.id = 2;
  second.interval_ns = 100 * kMs;
  source.meta.streams.push_back(second);
  source.samples[first] = {{0, {10}}, {1000 * kMs, {20}}};
  source.samples[2] = {{1100 * kMs, {25}}, {1200 * kMs, {26}}};
  const MachineSummary summary = Read();
  ASSERT_NE(summary.Find("cpu.forks"), nullptr);
  EXPECT_DOUBLE_EQ(summary.Find("cpu.forks")->total, 16);
}

TEST_F(Machine, NothingRecordedIsNothingSaid) {
  const MachineSummary summary = Read();
  EXPECT_TRUE(summary.cpus.empty());
  EXPECT_TRUE(summary.signals.empty());
}

}  // namespace
}  // namespace attune::analysis::machine_test
