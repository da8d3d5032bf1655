// What costs CPU time without work, from samples that were written down here, and where nothing is claimed.

#include <gmock/gmock.h>

#include "analysis/findings/finding.h"
#include "analysis/findings/judgement.h"
#include "model/sample_marks.h"
#include "program_source.h"

namespace attune::analysis::finding_cpu_test {
namespace {

using model::ElementId;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kPeriodNs = 4 * kMs;

/// Two threads, each on a CPU of its own.
struct Program : ProgramSource {
  Program() : ProgramSource("solver", 2) {
    meta.info["cpus_online"] = "0-1";
    work = Code("work", "/bin/solver");
    read = Code("read", "/lib/x86_64-linux-gnu/libc.so.6");
    main = Code("main", "/bin/solver");
  }
  ElementId Code(const std::string& function, const std::string& module) {
    return Place(module + "+" + function, {{.line = 7, .function = function, .file = "solver.c", .module = module}});
  }
  ElementId Kernel(const std::string& function) { return Code(function, "[kernel]"); }
  ElementId Mark(std::string_view name) { return Place(std::string(name)); }
  /// So many samples at a call path, outermost first, one every period from a time on.
  void Sample(size_t who, const std::vector<ElementId>& path, int64_t times, int64_t from_ms = 0) {
    int64_t stack = 0;
    for (const ElementId site : path) {
      stack_rows.push_back({static_cast<int64_t>(stack_rows.size()) + 1, stack, site});
      stack = stack_rows.back().id;
    }
    for (int64_t i = 0; i < times; ++i)
      cpu_samples.push_back(
          {from_ms * kMs + i * kPeriodNs, thread[who], static_cast<int64_t>(who), path.back(), stack, kPeriodNs});
  }
  std::vector<Finding> Findings() {
    auto judged = JudgeProgram(*this);
    EXPECT_TRUE(judged.ok());
    return std::move(judged->findings);
  }

  ElementId work, read, main;
};

const Finding* Find(const std::vector<Finding>& findings, std::string_view kind) {
  for (const Finding& finding : findings) {
    if (finding.kind.name == kind) return &finding;
  }
  return nullptr;
}

TEST(BusyWait, ALoopThatOnlyAnotherThreadCanEnd) {
  Program program;
  program.Sample(0, {program.main, program.work, program.Mark(model::kSpinningMark)}, 100);
  program.Sample(0, {program.main}, 100, 400);
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "busy-wait");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->lost_ns, 100 * kPeriodNs);
  EXPECT_EQ(finding->site.function, "work");
  EXPECT_THAT(finding->figures.at("part_of_cpu_time"), DoubleNear(0.5, 1e-9));
}

TEST(BusyWait, NotInTheLocksOfTheLibraryNorInRuntimes) {
  Program program;
  for (const char* module : {"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libgomp.so.1", "/opt/lib/libattune_probe.so"})
    program.Sample(0, {program.work, program.Code("wait", module), program.Mark(model::kSpinningMark)}, 50);
  EXPECT_EQ(Find(program.Findings(), "busy-wait"), nullptr);
}

TEST(BusyWait, CallsThatDoNotWaitWithTheLoopAroundThem) {
  Program program;
  program.Sample(0, {program.main, program.work, program.read, program.Kernel("__x64_sys_sched_yield")}, 60);
  program.Sample(0, {program.main, program.work}, 20, 240);
  program.Sample(0, {program.main}, 100, 320);
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "busy-wait");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->lost_ns, 80 * kPeriodNs);
}

TEST(BusyWait, AFunctionThatYieldsNowAndThenComputes) {
  Program program;
  program.Sample(0, {program.work, program.read, program.Kernel("__x64_sys_sched_yield")}, 20);
  program.Sample(0, {program.work}, 200, 80);
  EXPECT_EQ(Find(program.Findings(), "busy-wait"), nullptr) << "20 periods are less than a tenth of a second";
}

TEST(BusyWait, ReadsThatNeverFindAnything) {
  Program program;
  const ElementId pipe = program.Kernel("pipe_read"), vfs = program.Kernel("vfs_read");
  program.Sample(0, {program.work, program.read, vfs, pipe}, 100);
  EXPECT_NE(Find(program.Findings(), "busy-wait"), nullptr);
  program.Sample(0, {program.work, program.read, vfs, pipe, program.Kernel("copy_page_to_iter")}, 5, 400);
  EXPECT_EQ(Find(program.Findings(), "busy-wait"), nullptr);
}

TEST(PageFaults, MemoryThatIsGivenBackAndAskedForAgain) {
  Program program;
  const ElementId fault = program.Kernel("asm_exc_page_fault"), release = program.Kernel("unmap_vmas");
  const ElementId unmap = program.Code("munmap", "/lib/x86_64-linux-gnu/libc.so.6");
  program.Sample(0, {program.work, fault}, 100);
  program.Sample(0, {program.work, unmap, release}, 20, 20);
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "page-faults");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->lost_ns, 100 * kPeriodNs);
  EXPECT_EQ(finding->site.function, "work");
  EXPECT_THAT(finding->advice, HasSubstr("map and unmap"));
}

TEST(PageFaults, NotWhereMemoryIsTouchedOnce) {
  Program program;
  const ElementId fault = program.Kernel("asm_exc_page_fault"), release = program.Kernel("unmap_vmas");
  program.Sample(0, {program.work, fault}, 100);
  EXPECT_EQ(Find(program.Findings(), "page-faults"), nullptr);
  program.Sample(0, {program.main, release}, 30, 800);
  EXPECT_EQ(Find(program.Findings(), "page-faults"), nullptr) << "it is given back at the end";
}

TEST(SmallIo, ReadsOfFewBytes) {
  Program program;
  program.Sample(0, {program.work, program.read, program.Mark(model::SmallMark(1)), program.Kernel("ksys_read")}, 100);
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "small-io");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->lost_ns, 100 * kPeriodNs);
  EXPECT_EQ(finding->site.function, "work");
  EXPECT_THAT(finding->figures.at("bytes_a_call"), DoubleNear(1, 1e-9));
}

TEST(SmallIo, NotOfMessages) {
  Program program;
  const ElementId mark = program.Mark(model::SmallMark(8)), sys_read = program.Kernel("ksys_read");
  program.Sample(0, {program.work, program.read, mark, sys_read, program.Kernel("eventfd_read")}, 100);
  program.Sample(0, {program.work, program.read, mark, sys_read, program.Kernel("schedule")}, 100, 400);
  EXPECT_EQ(Find(program.Findings(), "small-io"), nullptr);
}

struct Counters : Program {
  /// Both threads update atomically what lies at an address, for a second.
  void Update(int64_t first, int64_t second) {
    const int64_t addresses[] = {first, second};
    const ElementId mark = Mark(model::kAtomicMark);
    for (size_t who = 0; who < 2; ++who) {
      Sample(who, {main, work, mark}, 200);
      for (int64_t i = 0; i < 200; ++i)
        accesses.push_back({.t_ns = i * kPeriodNs,
                            .thread = thread[who],
                            .cpu = static_cast<int64_t>(who),
                            .site = work,
                            .kind = model::AccessKind::kUpdate,
                            .address = addresses[who],
                            .bytes = 8,
                            .weight_ns = kPeriodNs});
    }
  }
};

TEST(TrueSharing, ACounterOfAllThreads) {
  Counters program;
  program.Update(0x10000, 0x10000);
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "true-sharing");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->lost_ns, 400 * kPeriodNs);
  EXPECT_EQ(finding->site.function, "work");
  EXPECT_EQ(Find(findings, "false-sharing"), nullptr);
}

TEST(TrueSharing, NotOfCountersOfTheirOwn) {
  Counters program;
  program.Update(0x10000, 0x20000);
  EXPECT_EQ(Find(program.Findings(), "true-sharing"), nullptr);
}

TEST(AllocatorContention, TheLocksOfMalloc) {
  Program program;
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  const ElementId malloc = program.Code("malloc", libc), wait = program.Code("__lll_lock_wait_private", libc);
  for (size_t who = 0; who < 2; ++who) program.Sample(who, {program.work, malloc, wait}, 50);
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "allocator-contention");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->lost_ns, 100 * kPeriodNs);
  EXPECT_EQ(finding->site.function, "work");
}

TEST(AllocatorContention, NotWhereThreadsAllocateMuchWithoutLocks) {
  Program program;
  const ElementId malloc = program.Code("malloc", "/lib/x86_64-linux-gnu/libc.so.6");
  for (size_t who = 0; who < 2; ++who) program.Sample(who, {program.work, malloc}, 200);
  EXPECT_EQ(Find(program.Findings(), "allocator-contention"), nullptr);
}

TEST(InterpreterLock, ConditionsOfPython) {
  Program program;
  const ElementId condition = program.Object("condition 0x1");
  const ElementId take = program.Code("take_gil", "/usr/bin/python3.11");
  for (size_t who = 0; who < 2; ++who) {
    for (int64_t at = static_cast<int64_t>(who) * 10; at < 980; at += 20)
      program.Wait(program.thread[who], condition, take, wire::SyncKind::kCondition, at, at + 10);
    program.Sample(who, {program.work}, 100);
  }
  const auto findings = program.Findings();
  const Finding* finding = Find(findings, "interpreter-lock");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(static_cast<double>(finding->lost_ns), DoubleNear(980.0 * kMs, 20.0 * kMs));
  EXPECT_EQ(finding->site.function, "work");
  EXPECT_EQ(Find(findings, "serialisation"), nullptr);
  EXPECT_EQ(Find(findings, "condition-wait"), nullptr);
}

}  // namespace
}  // namespace attune::analysis::finding_cpu_test
