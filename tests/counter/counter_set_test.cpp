// Counters of real processes, by the kernel's software events; refusals by what stands in for the kernel.

#include "counter/counter_set.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "counter/library/group_reader.h"
#include "counter/process_accounting.h"
#include "fake_host.h"
#include "waiting_child.h"

namespace attune::counter {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::vector<NamedEvent> Named(std::string_view list) {
  auto events = ParseEvents(HostRoot(), {}, list);
  EXPECT_TRUE(events.ok()) << events.error().message;
  return *std::move(events);
}

TEST(CounterSet, CountsAProcessWithItsChildren) {
  WaitingChild child([] {
    if (fork() == 0) {
      TouchPages();
      _exit(0);
    }
    wait(nullptr);
  });
  auto set = CounterSet::Open(HostRoot(), KernelPerfOpen(), Named("page-faults,task-clock"),
                              {.pid = child.pid(), .cpus = {}, .with_children = true});
  if (!set.ok() && set.error().code == Errc::kPermission) GTEST_SKIP() << set.error().message;
  ASSERT_TRUE(set.ok()) << set.error().message;
  child.Finish();
  set->Read();
  const auto counts = set->Counts();
  ASSERT_THAT(counts, SizeIs(2));
  EXPECT_TRUE(counts[0].is_known);
  EXPECT_GE(counts[0].value, 900) << "a thousand pages, some of them together where the kernel maps ahead";
  EXPECT_GT(counts[1].value, 0);
  EXPECT_EQ(counts[0].share, 1);
  EXPECT_EQ(counts[0].bound, 0);
}

TEST(CounterSet, CountsTheProgramAloneWhereTheKernelMayNotBeCounted) {
  int opened = 0;
  const PerfOpen open = [&](perf_event_attr& attributes, const PerfTarget&) {
    if (!attributes.exclude_kernel) return -EACCES;
    ++opened;
    return dup(0);
  };
  const auto set = CounterSet::Open(HostRoot(), open, Named("page-faults,context-switches"), {.pid = 1, .cpus = {}});
  ASSERT_TRUE(set.ok());
  EXPECT_EQ(opened, 2);
  EXPECT_TRUE(set->is_user_only());
  ASSERT_THAT(set->notes(), SizeIs(2));
  EXPECT_THAT(set->notes()[0].why, HasSubstr("perf_event_paranoid"));
  EXPECT_EQ(set->notes()[1].event, "context-switches") << "which happen in the kernel";
  EXPECT_FALSE(set->Counts()[1].is_known);
}

NamedEvent OfCores(std::string name, uint64_t config) {
  return {.name = std::move(name),
          .parts = {Event{.type = PERF_TYPE_RAW, .config = config, .device = "cpu", .cpus = {}}}};
}

/// The kernel's rule of Intel's top-down metrics.
struct KernelWithSlots {
  std::map<int, uint64_t> configs;  ///< by descriptor

  int operator()(const perf_event_attr& attributes, const PerfTarget& target) {
    const bool is_metric = attributes.config >= 0x8000;
    if (is_metric && (target.group < 0 || configs[target.group] != 0x400)) return -EINVAL;
    const int fd = dup(0);
    configs[fd] = attributes.config;
    return fd;
  }
};

TEST(CounterSet, TopDownMetricsAreInTheGroupOfSlots) {
  KernelWithSlots kernel;
  const std::vector<NamedEvent> events{OfCores("topdown-be-bound", 0x8300), OfCores("r1c2", 0x1c2),
                                       OfCores("slots", 0x400), OfCores("topdown-retiring", 0x8000)};
  auto set = CounterSet::Open(HostRoot(), std::ref(kernel), events, {.cpus = CpuSet(std::vector<CpuId>{0, 1})});
  ASSERT_TRUE(set.ok());
  EXPECT_THAT(set->notes(), SizeIs(0));
  EXPECT_THAT(kernel.configs, SizeIs(8)) << "four events on two CPUs";
}

TEST(CounterSet, TopDownMetricsWithoutSlotsAreNoted) {
  KernelWithSlots kernel;
  const std::vector<NamedEvent> events{OfCores("topdown-be-bound", 0x8300), OfCores("r1c2", 0x1c2)};
  const auto set = CounterSet::Open(HostRoot(), std::ref(kernel), events, {.pid = 1, .cpus = {}});
  ASSERT_TRUE(set.ok());
  ASSERT_THAT(set->notes(), SizeIs(1));
  EXPECT_EQ(set->notes()[0].event, "topdown-be-bound");
  EXPECT_THAT(set->notes()[0].why, HasSubstr("'slots'"));
}

TEST(GroupReader, TopDownMetricsAreInTheGroupOfSlots) {
  KernelWithSlots kernel;
  const std::vector<NamedEvent> events{OfCores("topdown-be-bound", 0x8300), OfCores("r1c2", 0x1c2),
                                       OfCores("slots", 0x400), OfCores("topdown-retiring", 0x8000)};
  GroupReader reader;
  const std::vector<GroupReader::Place> places{{}};
  ASSERT_TRUE(reader.Open(HostRoot(), std::ref(kernel), events, places).ok());
  EXPECT_THAT(reader.notes(), SizeIs(0));
  EXPECT_TRUE(reader.direct().empty());
}

TEST(CounterSet, OthersAreCountedWhereACpuHasGoneOffline) {
  const PerfOpen open = [](perf_event_attr&, const PerfTarget& target) { return target.cpu == 1 ? -ENODEV : dup(0); };
  const auto set = CounterSet::Open(HostRoot(), open, Named("page-faults,task-clock"),
                                    {.cpus = CpuSet(std::vector<CpuId>{0, 1, 2})});
  ASSERT_TRUE(set.ok());
  ASSERT_THAT(set->notes(), SizeIs(1));
  EXPECT_THAT(set->notes()[0].why, HasSubstr("cpu1"));
}

TEST(CounterSet, CountersThatAnotherProgramHasAreNoted) {
  const PerfOpen open = [](perf_event_attr& attributes, const PerfTarget&) {
    return attributes.config == PERF_COUNT_SW_TASK_CLOCK ? -EBUSY : dup(0);
  };
  const auto set = CounterSet::Open(HostRoot(), open, Named("page-faults,task-clock"), {.pid = 1, .cpus = {}});
  ASSERT_TRUE(set.ok());
  ASSERT_THAT(set->notes(), SizeIs(1));
  EXPECT_THAT(set->notes()[0].why, HasSubstr("another program"));
}

TEST(CounterSet, AnEventThatCannotBeCountedIsNoted) {
  const PerfOpen open = [](perf_event_attr& attributes, const PerfTarget&) {
    return attributes.config == PERF_COUNT_SW_EMULATION_FAULTS ? -ENOENT : dup(0);
  };
  const auto set = CounterSet::Open(HostRoot(), open, Named("emulation-faults,page-faults"), {.pid = 1, .cpus = {}});
  ASSERT_TRUE(set.ok());
  ASSERT_THAT(set->notes(), SizeIs(1));
  EXPECT_EQ(set->notes()[0].event, "emulation-faults");
  EXPECT_FALSE(set->Counts()[0].is_known);
}

TEST(CounterSet, WithoutAnyEventThereIsAnError) {
  const PerfOpen none = [](perf_event_attr&, const PerfTarget&) { return -ENOENT; };
  EXPECT_EQ(CounterSet::Open(HostRoot(), none, Named("page-faults"), {.pid = 1, .cpus = {}}).error().code,
            Errc::kUnavailable);
  const PerfOpen full = [](perf_event_attr&, const PerfTarget&) { return -EMFILE; };
  EXPECT_THAT(CounterSet::Open(HostRoot(), full, Named("page-faults"), {.pid = 1, .cpus = {}}).error().hint,
              HasSubstr("ulimit -n"));
}

TEST(Accounted, AreSomeSoftwareEventsAsAWhole) {
  EXPECT_TRUE(IsAccounted(Named("task-clock").front()));
  EXPECT_TRUE(IsAccounted(Named("page-faults").front()));
  EXPECT_FALSE(IsAccounted(Named("page-faults:u").front()));
  EXPECT_FALSE(IsAccounted(Named("cpu-migrations").front()));
  EXPECT_EQ(AccountedCount(Named("faults").front(), {.minor_faults = 3, .major_faults = 4}), 7);
}

}  // namespace
}  // namespace attune::counter
