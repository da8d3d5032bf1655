#include "track/process_usage.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "track/fake_process.h"

namespace attune::track {
namespace {

using attune::fakes::FakeHost;
using attune::fakes::FakeProcess;
using model::kAbsent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ParseProcStat, ReadsTheFieldsThatCount) {
  FakeProcess process;
  process.pid = 42;
  process.parent = 7;
  const auto stat = ParseProcStat(process.Stat());
  ASSERT_TRUE(stat.ok()) << stat.error().message;
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->parent_pid, 7);
  EXPECT_EQ(stat->minor_faults, 100);
  EXPECT_EQ(stat->major_faults, 2);
  EXPECT_EQ(stat->user_ticks, 3);
  EXPECT_EQ(stat->system_ticks, 4);
  EXPECT_EQ(stat->threads, 1);
  EXPECT_EQ(stat->start_ticks, 50);
  EXPECT_EQ(stat->stack_start, 7000);
  EXPECT_EQ(stat->wait_status, kAbsent) << "a process that lives has none";
}

TEST(ParseProcStat, NamesMayHoldAnything) {
  for (const char* name : {"a) S 1 2 (b", "two words", ")", "(", "", "line\nbreak", ") R 1"}) {
    FakeProcess process;
    process.name = name;
    const auto stat = ParseProcStat(process.Stat());
    ASSERT_TRUE(stat.ok()) << name << ": " << stat.error().message;
    EXPECT_EQ(stat->name, name);
    EXPECT_EQ(stat->state, 'S') << name;
  }
}

TEST(ParseProcStat, WaitStatusOfAZombie) {
  FakeProcess process;
  process.state = 'Z';
  process.wait_status = 3 << 8;
  EXPECT_EQ(ParseProcStat(process.Stat())->wait_status, 3 << 8);
}

TEST(ParseProcStat, RefusesWhatIsCutOrForeign) {
  const std::string good = FakeProcess().Stat();
  for (const std::string& text :
       {std::string(), std::string("1 sh S 1"), good.substr(0, 30), std::string("x (sh) S 1 2"),
        std::string("-1 (sh) S 1 2"), good.substr(0, good.find(" S ")) + " S 1 one 2"}) {
    const auto stat = ParseProcStat(text);
    ASSERT_FALSE(stat.ok()) << text;
    EXPECT_EQ(stat.error().code, Errc::kCorrupt);
  }
}

TEST(SetWaitStatus, TellsExitFromSignal) {
  model::ProcessEvent event;
  SetWaitStatus(7 << 8, event);
  EXPECT_EQ(event.exit_code, 7);
  EXPECT_EQ(event.exit_signal, 0);
  SetWaitStatus(0x80 | SIGSEGV, event);
  EXPECT_EQ(event.exit_code, kAbsent);
  EXPECT_EQ(event.exit_signal, SIGSEGV);
}

TEST(ReadUsage, SumsThreads) {
  FakeHost host;
  FakeProcess process;
  process.pid = 10;
  process.threads = 2;
  process.Put(host, std::string_view("prog\0--flag\0", 12));
  host.Write("/proc/10/task/11/status", "voluntary_ctxt_switches:\t100\nnonvoluntary_ctxt_switches:\t200\n");
  const auto usage = ReadUsage(host.Root(), 10);
  ASSERT_TRUE(usage.ok()) << usage.error().message;
  EXPECT_EQ(usage->voluntary_switches, 105);
  EXPECT_EQ(usage->involuntary_switches, 206);
  EXPECT_EQ(usage->max_rss_bytes, 300 * 1024);
  EXPECT_EQ(usage->minor_faults, 100);
  EXPECT_EQ(*ReadCommand(host.Root(), 10), "prog --flag");
  EXPECT_THAT(*ListThreads(host.Root(), 10), ElementsAre(10, 11));
  EXPECT_EQ(ReadUsage(host.Root(), 12).error().code, Errc::kNotFound);
}

TEST(ReadCommand, NameInBracketsWhereThereAreNoArguments) {
  FakeHost host;
  FakeProcess process;
  process.pid = 10;
  process.name = "kworker/0:1";
  process.Put(host, "");
  EXPECT_EQ(*ReadCommand(host.Root(), 10), "[kworker/0:1]");
}

TEST(ReadEnvironment, SplitsAtZeroBytes) {
  FakeHost host;
  host.Write("/proc/9/environ", std::string_view("A=1\0B=two=2\0broken\0C=\0", 23));
  const auto environment = ReadEnvironment(host.Root(), 9);
  ASSERT_TRUE(environment.ok());
  EXPECT_THAT(*environment, ElementsAre(std::pair("A", "1"), std::pair("B", "two=2"), std::pair("C", "")));
}

TEST(DescribeTree, ParentsComeFirstAndStrangersAreLeftOut) {
  FakeHost host;
  const auto put = [&](int pid, int parent) {
    FakeProcess process;
    process.pid = pid;
    process.parent = parent;
    process.Put(host, "prog");
  };
  put(20, 1);
  put(5, 30);  // a grandchild with a smaller pid than its parent
  put(30, 20);
  put(31, 2);
  std::vector<int64_t> forks;
  const auto events = DescribeTree(host.Root(), 20);
  ASSERT_TRUE(events.ok());
  for (const model::ProcessEvent& event : *events) {
    if (event.kind == model::ProcessEventKind::kFork) forks.push_back(event.pid);
  }
  EXPECT_THAT(forks, ElementsAre(20, 30, 5));
  EXPECT_EQ(DescribeTree(host.Root(), 99).error().code, Errc::kNotFound);
}

TEST(ThisProcess, AgreesWithGetrusage) {
  const HostRoot host;
  const auto stat = ReadProcStat(host, ::getpid());
  ASSERT_TRUE(stat.ok()) << stat.error().message;
  EXPECT_EQ(stat->parent_pid, ::getppid());
  EXPECT_LE(StartNs(*stat), MonotonicNs());
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  const auto usage = ReadUsage(host, ::getpid());
  ::getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(usage.ok());
  EXPECT_GE(usage->minor_faults, before.ru_minflt);
  EXPECT_LE(usage->minor_faults, after.ru_minflt);
  EXPECT_GE(usage->max_rss_bytes, 1024 * 1024);
  const auto environment = ReadEnvironment(host, ::getpid());
  ASSERT_TRUE(environment.ok()) << environment.error().message;
  EXPECT_TRUE(environment->contains("PATH"));
}

}  // namespace
}  // namespace attune::track
