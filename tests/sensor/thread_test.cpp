#include "sensor/thread/thread.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

#include "fake_host.h"
#include "sensor/registry.h"

namespace attune::sensor::thread_test {
namespace {

using attune::fakes::FakeHost;
using model::ElementKind;
using model::kAbsent;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;

void PutThread(FakeHost& host, int pid, int tid, const std::string& schedstat = "100 20 3\n") {
  const std::string folder = fmt::format("/proc/{}/task/{}/", pid, tid);
  host.Write(folder + "schedstat", schedstat)
      .Write(folder + "stat", fmt::format("{} (a) b) R 1 2 3 0 -1 4194304 50 60 7 8 0 0\n", tid))
      .Write(folder + "status",
             "Name:\ta\nnonvoluntary_ctxt_switches:\t0\nThreads:\t2\nCpus_allowed:\tf,00000003\nCpus_allowed_list:\t0-"
             "1,32-35\nvoluntary_ctxt_switches:\t11\n"
             "nonvoluntary_ctxt_switches:\t12\n");
}
void PutProcess(FakeHost& host, int pid) { host.Write(fmt::format("/proc/{}/statm", pid), "1000 25 10 1 0 5 0\n"); }

class ThreadTest : public ::testing::Test {
 protected:
  std::unique_ptr<ThreadSensor> Make(size_t max_threads = 0) {
    return std::make_unique<ThreadSensor>([this] { return pids; }, max_threads);
  }
  FakeHost host;
  std::vector<int64_t> pids;
};

TEST_F(ThreadTest, EachThreadOfEachProcess) {
  PutProcess(host, 10);
  PutThread(host, 10, 10);
  PutThread(host, 10, 9, "1 2 3\n");  // numbers of threads wrap
  PutProcess(host, 30);
  PutThread(host, 30, 30);
  pids = {10, 30};
  const auto sensor = Make();
  const auto specs = sensor->Prepare(host.Root());
  ASSERT_TRUE(specs.ok());
  ASSERT_THAT(*specs, SizeIs(3 * 8 + 2 + 2));
  EXPECT_EQ(specs->at(0).signal, "run");
  EXPECT_EQ(specs->at(0).max_per_second, 1'000'000'000);
  EXPECT_EQ(specs->at(0).element, (model::ElementKey{ElementKind::kThread, 9, "", 10}));
  EXPECT_EQ(specs->at(16).element, (model::ElementKey{ElementKind::kThread, 30, "", 30}));
  EXPECT_EQ(specs->at(24).signal, "rss");
  EXPECT_EQ(specs->at(24).element, (model::ElementKey{ElementKind::kProcess, 10}));
  std::vector<int64_t> values(specs->size());
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(std::span(values).first(8), ElementsAre(1, 2, 3, 50, 7, 11, 12, 6));
  EXPECT_THAT(std::span(values).subspan(8, 8), ElementsAre(100, 20, 3, 50, 7, 11, 12, 6));
  EXPECT_THAT(std::span(values).last(4), ElementsAre(25 * ::sysconf(_SC_PAGESIZE), 25 * ::sysconf(_SC_PAGESIZE), 3, 0));
}

TEST_F(ThreadTest, WaitingForDevicesIsASignalWhereTheKernelAccountsForIt) {
  PutProcess(host, 10);
  PutThread(host, 10, 10);
  std::string fields;
  for (int field = 4; field <= 52; ++field) fields += fmt::format(" {}", field == 42 ? 7 : field);
  host.Write("/proc/10/task/10/stat", "10 (a) b) R" + fields + "\n").Write("/proc/sys/kernel/task_delayacct", "1\n");
  pids = {10};
  const auto sensor = Make();
  const auto specs = sensor->Prepare(host.Root());
  ASSERT_TRUE(specs.ok());
  ASSERT_THAT(*specs, SizeIs(9 + 1 + 2));
  EXPECT_EQ(specs->at(8).signal, "io_wait");
  std::vector<int64_t> values(specs->size());
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_EQ(values[8], 7 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(values[4], 12) << "major faults";
  host.Write("/proc/10/task/10/stat", "10 (a) b) R 4 5 6 7 8 9 10 11 12 13\n");  // a file that ends early
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_EQ(values[8], kAbsent);
  host.Write("/proc/sys/kernel/task_delayacct", "0\n");
  EXPECT_THAT(*Make()->Prepare(host.Root()), SizeIs(8 + 1 + 2));
}

TEST_F(ThreadTest, AThreadThatEndedIsAbsentAndTheProgramsEndIsTheSourceGone) {
  PutProcess(host, 10);
  PutThread(host, 10, 10);
  PutThread(host, 10, 11);
  pids = {10};
  const auto sensor = Make();
  std::vector<int64_t> values(sensor->Prepare(host.Root())->size());
  for (const char* file : {"schedstat", "stat", "status"}) host.Write(fmt::format("/proc/10/task/11/{}", file), "");
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_EQ(values[0], 100);
  EXPECT_THAT(std::span(values).subspan(8, 8), Each(kAbsent));
  for (const char* file : {"schedstat", "stat", "status"}) host.Write(fmt::format("/proc/10/task/10/{}", file), "");
  EXPECT_FALSE(sensor->Sample(values));
}

TEST_F(ThreadTest, IsMadeAnewWhenThreadsComeAndGoAndOnlyThen) {
  const auto nothing = Make();
  EXPECT_THAT(*nothing->Prepare(host.Root()), SizeIs(0)) << "the program has not started";
  EXPECT_FALSE(nothing->Sample({}));
  EXPECT_EQ(nothing->Fresh(), nullptr);
  PutProcess(host, 10);
  PutThread(host, 10, 10);
  pids = {10};
  auto sensor = nothing->Fresh();
  ASSERT_NE(sensor, nullptr);
  EXPECT_THAT(*sensor->Prepare(host.Root()), SizeIs(8 + 1 + 2));
  EXPECT_EQ(sensor->Fresh(), nullptr);
  PutThread(host, 10, 11);
  sensor = sensor->Fresh();
  ASSERT_NE(sensor, nullptr);
  EXPECT_THAT(*sensor->Prepare(host.Root()), SizeIs(2 * 8 + 1 + 2));
  host.Remove("/proc/10/task/10");
  EXPECT_NE(sensor->Fresh(), nullptr);
  pids.clear();
  sensor = sensor->Fresh();
  ASSERT_NE(sensor, nullptr);
  EXPECT_THAT(*sensor->Prepare(host.Root()), SizeIs(0)) << "it has ended";
}

TEST_F(ThreadTest, VeryManyThreadsAreCountedBeyondTheFirst) {
  PutProcess(host, 10);
  for (int tid = 10; tid < 15; ++tid) PutThread(host, 10, tid);
  pids = {10};
  const auto sensor = Make(/*max_threads=*/3);
  const auto specs = sensor->Prepare(host.Root());
  ASSERT_THAT(*specs, SizeIs(3 * 8 + 1 + 2));
  std::vector<int64_t> values(specs->size());
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(std::span(values).last(2), ElementsAre(5, 2));
  PutThread(host, 10, 15);
  EXPECT_EQ(sensor->Fresh(), nullptr) << "those that are sampled are the same";
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(std::span(values).last(2), ElementsAre(6, 3)) << "but the others are counted";
}

TEST_F(ThreadTest, WithoutAProgramItIsUnavailable) {
  EXPECT_EQ(ThreadSensor(nullptr).Prepare(host.Root()).error().code, Errc::kUnavailable);
  EXPECT_EQ(ThreadSensor(nullptr).Fresh(), nullptr);
}

TEST_F(ThreadTest, AKernelWithoutSchedstat) {
  PutProcess(host, 10);
  PutThread(host, 10, 10);
  host.Remove("/proc/10/task/10/schedstat");
  pids = {10};
  const auto sensor = Make();
  std::vector<int64_t> values(sensor->Prepare(host.Root())->size());
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_THAT(std::span(values).first(7), ElementsAre(kAbsent, kAbsent, kAbsent, 50, 7, 11, 12));
}

TEST(ThreadText, WhatIsMalformedIsAbsent) {
  std::array<int64_t, kSchedstatValues> times;
  ParseSchedstat("5 x 7", times);
  EXPECT_THAT(times, ElementsAre(5, kAbsent, kAbsent));
  std::array<int64_t, kFaultValues> faults;
  for (const char* stat : {"", "7", "7 (a", "7 (a)", "7 (a) R", "7 (a) R 1 2 3 4 5 6"}) {
    ParseFaults(stat, faults);
    EXPECT_THAT(faults, Each(kAbsent)) << stat;
  }
  ParseFaults("7 (a) ) (x) 1) R 1 2 3 4 -1 6 70 8 90", faults);
  EXPECT_THAT(faults, ElementsAre(70, 90));
  std::array<int64_t, kSwitchValues> switches;
  ParseSwitches("Name:\tvoluntary_ctxt_switches:\t3\n", switches);
  EXPECT_THAT(switches, Each(kAbsent)) << "a name that looks like it";
}

TEST(ThreadHere, ReadsThisProcess) {
  auto sensor = *MakeSensor("thread", ShownContext());
  const auto specs = sensor->Prepare(HostRoot());
  ASSERT_TRUE(specs.ok());
  std::vector<int64_t> values(specs->size());
  ASSERT_TRUE(sensor->Sample(values));
  EXPECT_GT(values[0], 0) << "run";
  EXPECT_GE(values[3], 1) << "minor faults";
}

}  // namespace
}  // namespace attune::sensor::thread_test
