// The library for programs, as C programs call it.

#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attune/counters.h"

namespace {

using ::testing::HasSubstr;
using ::testing::StrEq;

using Counters = std::unique_ptr<attune_counters, decltype(&attune_counters_close)>;
Counters Open(const char* events) { return {attune_counters_open(events), &attune_counters_close}; }

/// Whether the kernel refuses a software event: then alone tests may be left out. @param pid, cpu as perf_event_open(2)
bool IsRefused(uint64_t config, bool in_kernel, pid_t pid = 0, int cpu = -1) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = config;
  attributes.exclude_kernel = attributes.exclude_hv = !in_kernel;
  const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, 0));
  if (fd >= 0) close(fd);
  return fd < 0 && (errno == EACCES || errno == EPERM || errno == ENOSYS);
}

void TouchPages(size_t pages) {
  const auto page = static_cast<size_t>(getpagesize());
  void* mapped = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(mapped, pages * page, MADV_NOHUGEPAGE);
  auto* memory = static_cast<volatile char*>(mapped);
  for (size_t i = 0; i < pages; ++i) memory[i * page] = 1;
  munmap(mapped, pages * page);
}

void ComputeForMs(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Counters of events of the program alone, which every user may count.
class CountersLibrary : public testing::Test {
 protected:
  void SetUp() override {
    if (IsRefused(PERF_COUNT_SW_PAGE_FAULTS, false)) GTEST_SKIP() << "the kernel refuses events of perf";
    ASSERT_NE(counters_, nullptr) << attune_counters_error();
  }
  attune_counted Result(int region) const {
    attune_counted counted{};
    EXPECT_EQ(attune_counters_result(counters_.get(), region, &counted), 0);
    return counted;
  }
  attune_counted Total(int region) const {
    attune_counted counted{};
    EXPECT_EQ(attune_counters_total(counters_.get(), region, &counted), 0);
    return counted;
  }

  Counters counters_ = Open("page-faults:u,task-clock:u");
};

TEST_F(CountersLibrary, EventsThatTheMachineHasNotAreLeftOut) {
  const Counters counters = Open("no_such_unit/event=1/,task-clock:u");
  EXPECT_EQ(counters, nullptr) << "nobody knows it";
  // No machine has both.
  const Counters some = Open("cpu_core/event=1/,armv8_cortex_a53/event=1/,task-clock:u");
  ASSERT_NE(some, nullptr) << attune_counters_error();
  EXPECT_THAT(attune_counters_why(some.get()), HasSubstr("armv8_cortex_a53/event=1/: this machine has no unit"));
}

TEST_F(CountersLibrary, CountsRoundRegionsThatNest) {
  const int outer = attune_counters_region(counters_.get(), "outer"),
            inner = attune_counters_region(counters_.get(), "inner");
  EXPECT_EQ(attune_counters_region(counters_.get(), "outer"), outer);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(attune_counters_begin(counters_.get(), outer), 0);
    TouchPages(100);
    ASSERT_EQ(attune_counters_begin(counters_.get(), inner), 0);
    TouchPages(200);
    ASSERT_EQ(attune_counters_end(counters_.get()), 0);
    ASSERT_EQ(attune_counters_end(counters_.get()), 0);
  }
  const attune_counted of_outer = Result(outer), of_inner = Result(inner);
  EXPECT_EQ(of_outer.calls, 3u);
  EXPECT_EQ(of_inner.calls, 3u);
  EXPECT_GE(of_inner.counts[0], 600);
  EXPECT_LT(of_inner.counts[0], 900);
  EXPECT_GE(of_outer.counts[0], of_inner.counts[0] + 300) << "the inner one's are also its";
  EXPECT_GE(of_outer.ns, of_inner.ns);
  EXPECT_GE(of_outer.counts[1], of_inner.counts[1]);
}

TEST_F(CountersLibrary, EachThreadHasCountersOfItsOwn) {
  const int region = attune_counters_region(counters_.get(), "work");
  std::array<std::thread, 3> threads;
  std::array<double, 3> counted{};
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i] = std::thread([&, i] {
      attune_counters* own = attune_counters_clone(counters_.get());
      ASSERT_NE(own, nullptr) << attune_counters_error();
      ASSERT_EQ(attune_counters_begin(own, region), 0);
      TouchPages(100 * (i + 1));
      ASSERT_EQ(attune_counters_end(own), 0);
      attune_counted result{};
      ASSERT_EQ(attune_counters_result(own, region, &result), 0);
      counted[i] = result.counts[0];
      attune_counters_close(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < threads.size(); ++i) {
    EXPECT_GE(counted[i], 100.0 * static_cast<double>(i + 1));
    EXPECT_LT(counted[i], 100.0 * static_cast<double>(i + 1) + 100);
  }
  EXPECT_EQ(Result(region).calls, 0u);
  EXPECT_EQ(Total(region).calls, 3u) << "also of those that are closed";
  EXPECT_EQ(Total(region).counts[0], counted[0] + counted[1] + counted[2]);
}

TEST_F(CountersLibrary, ReadsWhatWasCountedSinceTheyWereOpened) {
  ASSERT_EQ(attune_counters_size(counters_.get()), 2u);
  EXPECT_THAT(attune_counters_name(counters_.get(), 1), StrEq("task-clock:u"));
  EXPECT_THAT(attune_counters_unit(counters_.get(), 1), StrEq("ns"));
  EXPECT_EQ(attune_counters_name(counters_.get(), 2), nullptr);
  std::array<double, ATTUNE_COUNTERS_MAX> before{}, after{};
  ASSERT_EQ(attune_counters_read(counters_.get(), before.data()), 0);
  TouchPages(100);
  ASSERT_EQ(attune_counters_read(counters_.get(), after.data()), 0);
  EXPECT_GE(after[0] - before[0], 100);
  EXPECT_GT(after[1], before[1]);
}

TEST_F(CountersLibrary, OfSamplesTheNewestAreKept) {
  EXPECT_EQ(attune_counters_sample(counters_.get(), 0), -1);
  EXPECT_THAT(attune_counters_error(), HasSubstr("attune_counters_keep_samples"));
  ASSERT_EQ(attune_counters_keep_samples(counters_.get(), 4), 0);
  for (int tag = 0; tag < 6; ++tag) {
    TouchPages(10);
    ASSERT_EQ(attune_counters_sample(counters_.get(), tag), 0);
  }
  EXPECT_EQ(attune_counters_lost_samples(counters_.get()), 2u);
  std::array<attune_count_sample, 8> samples{};
  ASSERT_EQ(attune_counters_take_samples(counters_.get(), samples.data(), 3), 3u);
  ASSERT_EQ(attune_counters_take_samples(counters_.get(), samples.data() + 3, 5), 1u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(samples[i].tag, static_cast<int64_t>(i) + 2);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_GT(samples[i].t_ns, samples[i - 1].t_ns);
    EXPECT_GE(samples[i].counts[0], samples[i - 1].counts[0] + 10);
  }
}

/// @return exit code of a child process that runs it; -1: a signal ended it
int InChild(const std::function<int()>& run) {
  const pid_t child = fork();
  if (child == 0) _exit(run());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The kernel does not give a child the pages of its parent's events.
TEST_F(CountersLibrary, InAChildProcessTheyFailAndCloneCounts) {
  attune_counters* const counters = counters_.get();
  const int region = attune_counters_region(counters, "work");
  ASSERT_EQ(attune_counters_begin(counters, region), 0);
  EXPECT_EQ(InChild([&] {
              std::array<double, ATTUNE_COUNTERS_MAX> counts{};
              if (attune_counters_end(counters) != -1) return 1;
              if (attune_counters_begin(counters, region) != -1) return 2;
              if (attune_counters_read(counters, counts.data()) != -1) return 3;
              if (std::string(attune_counters_error()).find("child") == std::string::npos) return 4;
              attune_counters* own = attune_counters_clone(counters);
              if (own == nullptr) return 5;
              attune_counters_begin(own, region);
              TouchPages(200);
              attune_counters_end(own);
              attune_counted counted{};
              if (attune_counters_result(own, region, &counted) != 0) return 6;
              attune_counters_close(own);
              return counted.calls == 1 && counted.counts[0] >= 200 && counted.counts[0] < 400 ? 0 : 7;
            }),
            0);
  EXPECT_EQ(attune_counters_end(counters), 0) << "the parent goes on";
  EXPECT_EQ(Result(region).calls, 1u);
}

TEST_F(CountersLibrary, InAChildProcessClosingThemLeavesItsMemory) {
  EXPECT_EQ(InChild([&] {
              // What is mapped now may lie where the parent's pages were.
              constexpr size_t kPages = 512;
              const auto page = static_cast<size_t>(getpagesize());
              std::array<volatile char*, kPages> pages{};
              for (volatile char*& each : pages) {
                each = static_cast<volatile char*>(
                    mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
                *each = 1;
              }
              attune_counters_close(counters_.release());
              for (volatile char* each : pages) *each = 2;
              return 0;
            }),
            0);
}

TEST_F(CountersLibrary, MisuseIsAnErrorAndNothingElse) {
  EXPECT_EQ(attune_counters_end(counters_.get()), -1);
  EXPECT_THAT(attune_counters_error(), HasSubstr("no region began"));
  EXPECT_EQ(attune_counters_begin(counters_.get(), 7), -1);
  EXPECT_EQ(attune_counters_begin(counters_.get(), -1), -1);
  const int region = attune_counters_region(counters_.get(), "deep");
  for (int i = 0; i < ATTUNE_COUNTERS_DEPTH; ++i) ASSERT_EQ(attune_counters_begin(counters_.get(), region), 0);
  EXPECT_EQ(attune_counters_begin(counters_.get(), region), -1);
  for (int i = 0; i < ATTUNE_COUNTERS_DEPTH; ++i) ASSERT_EQ(attune_counters_end(counters_.get()), 0);
  for (int i = 0; i < ATTUNE_COUNTERS_REGIONS - 1; ++i)
    ASSERT_GE(attune_counters_region(counters_.get(), std::to_string(i).c_str()), 0);
  EXPECT_EQ(attune_counters_region(counters_.get(), "one more"), -1);
  attune_counters_close(nullptr);
}

/// Without an event of perf.
TEST(CountersLibraryUsage, CountsWhatTheKernelAccountsOfTheThread) {
  const Counters counters = Open("page-faults,context-switches");
  ASSERT_NE(counters, nullptr) << attune_counters_error();
  const int region = attune_counters_region(counters.get(), "work");
  attune_counters_begin(counters.get(), region);
  TouchPages(300);
  for (int i = 0; i < 20; ++i) usleep(100);
  std::thread([] { TouchPages(1000); }).join();
  attune_counters_end(counters.get());
  attune_counted counted{};
  ASSERT_EQ(attune_counters_result(counters.get(), region, &counted), 0);
  EXPECT_GE(counted.counts[0], 300);
  EXPECT_LT(counted.counts[0], 600) << "of this thread alone";
  EXPECT_GE(counted.counts[1], 20);
}

/// CPU time goes on by the clock while the thread is not switched off its CPU; perf's own count is the truth.
TEST(CountersLibraryUsage, CpuTimeIsPerfsWhateverTheThreadDoes) {
  if (IsRefused(PERF_COUNT_SW_TASK_CLOCK, true)) GTEST_SKIP() << "the kernel refuses events of perf";
  const Counters counters = Open("task-clock,page-faults");
  ASSERT_NE(counters, nullptr) << attune_counters_error();
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  const int perf = static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
  ASSERT_GE(perf, 0);
  const auto of_perf = [perf] {
    uint64_t ns = 0;
    EXPECT_EQ(read(perf, &ns, sizeof ns), static_cast<ssize_t>(sizeof ns));
    return static_cast<double>(ns);
  };
  struct Reading {
    double before, library, after;
  };
  const auto read_all = [&] {
    std::array<double, ATTUNE_COUNTERS_MAX> counts{};
    const double before = of_perf();
    EXPECT_EQ(attune_counters_read(counters.get(), counts.data()), 0);
    return Reading{.before = before, .library = counts[0], .after = of_perf()};
  };
  std::atomic<bool> is_over{false};
  std::thread rival([&] {
    while (!is_over.load()) sched_yield();
  });
  const Reading first = read_all();
  double last = first.library;
  constexpr double kOff = 50'000;  // ns: an undisturbed read, twice
  for (int i = 0; i < 3000; ++i) {
    switch (i % 5) {
      case 0: usleep(50); break;
      case 1: sched_yield(); break;
      case 2: TouchPages(20); break;
      case 3: ComputeForMs(i % 3); break;
      default: break;  // at once
    }
    const Reading now = read_all();
    ASSERT_GE(now.library, last) << "at " << i;
    ASSERT_GE(now.library - first.library, now.before - first.after - kOff) << "at " << i;
    ASSERT_LE(now.library - first.library, now.after - first.before + kOff) << "at " << i;
    last = now.library;
  }
  is_over = true;
  rival.join();
  close(perf);
}

TEST(CountersLibraryUsage, MigrationsAreCounted) {
  if (IsRefused(PERF_COUNT_SW_CPU_MIGRATIONS, true)) GTEST_SKIP() << "the kernel refuses events of perf";
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "one CPU";
  std::thread([&allowed] {
    const Counters counters = Open("cpu-migrations,context-switches");
    ASSERT_NE(counters, nullptr) << attune_counters_error();
    constexpr int kRounds = 50;
    for (int round = 0; round < kRounds; ++round) {
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
      }
    }
    std::array<double, ATTUNE_COUNTERS_MAX> counts{};
    ASSERT_EQ(attune_counters_read(counters.get(), counts.data()), 0);
    const int moves = kRounds * CPU_COUNT(&allowed);
    EXPECT_GE(counts[0], moves - 1);
    EXPECT_LE(counts[0], moves);
  }).join();
}

TEST(CountersLibraryMetrics, AreComputedOfTheSums) {
  if (IsRefused(PERF_COUNT_SW_TASK_CLOCK, false)) GTEST_SKIP() << "the kernel refuses events of perf";
  const Counters counters = Open("@scheduler");
  ASSERT_NE(counters, nullptr) << attune_counters_error();
  size_t cpus = 0;
  while (cpus < attune_counters_size(counters.get()) &&
         std::string("CPUs") != attune_counters_name(counters.get(), cpus))
    ++cpus;
  ASSERT_LT(cpus, attune_counters_size(counters.get()));
  const int busy = attune_counters_region(counters.get(), "busy"),
            idle = attune_counters_region(counters.get(), "idle");
  attune_counters_begin(counters.get(), busy);
  ComputeForMs(50);
  attune_counters_end(counters.get());
  attune_counters_begin(counters.get(), idle);
  usleep(50'000);
  attune_counters_end(counters.get());
  attune_counted of_busy{}, of_idle{};
  attune_counters_result(counters.get(), busy, &of_busy);
  attune_counters_result(counters.get(), idle, &of_idle);
  EXPECT_LT(of_busy.counts[cpus], 1.2);
  EXPECT_LT(of_idle.counts[cpus], 0.3);
  EXPECT_GT(of_busy.counts[cpus], of_idle.counts[cpus]);
}

TEST(CountersLibraryEvents, ThatAreNotKnownAreNamedWithTheNearest) {
  EXPECT_EQ(attune_counters_open("page-fualts"), nullptr);
  EXPECT_THAT(attune_counters_error(), HasSubstr("page-faults"));
  EXPECT_EQ(attune_counters_open("@schedular"), nullptr);
  EXPECT_THAT(attune_counters_error(), HasSubstr("scheduler"));
  EXPECT_EQ(attune_counters_open_cpus("task-clock", "900-901"), nullptr);
  EXPECT_THAT(attune_counters_error(), HasSubstr("online"));
}

TEST(CountersLibraryCpus, CountAllThatRunsOnThem) {
  if (IsRefused(PERF_COUNT_SW_CONTEXT_SWITCHES, true, -1, 0)) GTEST_SKIP() << "the kernel lets nobody count whole CPUs";
  const Counters counters(attune_counters_open_cpus("context-switches", nullptr), &attune_counters_close);
  ASSERT_NE(counters, nullptr) << attune_counters_error();
  std::array<double, ATTUNE_COUNTERS_MAX> counts{};
  for (int i = 0; i < 20; ++i) usleep(1000);
  ASSERT_EQ(attune_counters_read(counters.get(), counts.data()), 0);
  EXPECT_GE(counts[0], 20);
}

TEST(CountersLibraryCpp, EndsARegionWithItsScope) {
  if (IsRefused(PERF_COUNT_SW_PAGE_FAULTS, false)) GTEST_SKIP() << "the kernel refuses events of perf";
  const attune::Counters counters("page-faults:u");
  ASSERT_TRUE(counters) << attune_counters_error();
  const int region = attune_counters_region(counters.get(), "scope");
  {
    const attune::CountedRegion counted(counters, region);
  }
  std::thread([&] {
    const attune::Counters own = counters.Clone();
    const attune::CountedRegion counted(own, region);
  }).join();
  attune_counted total{};
  EXPECT_EQ(attune_counters_total(counters.get(), region, &total), 0);
  EXPECT_EQ(total.calls, 2u);
  const attune::Counters none("no-such-event");
  EXPECT_FALSE(none);
  const attune::CountedRegion nothing(none, region);
}

}  // namespace
