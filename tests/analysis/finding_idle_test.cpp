// Findings from idle CPUs: serial-section, late-start, tail-imbalance, narrow-affinity, throttling, from rows that were
// written down here.

#include <gmock/gmock.h>

#include "analysis/account/code_tree.h"
#include "analysis/findings/finding.h"
#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis::finding_idle_test {
namespace {

using model::ElementId;
using model::TimeState;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::SyncKind;

/// Two CPUs, for a second.
struct Idle : ProgramSource {
  explicit Idle(int threads) : ProgramSource("solver", threads) {
    meta.info["cpus_online"] = "0-1";
    meta.info["cpus_allowed"] = "0-1";
  }
  ElementId Site(const std::string& function, int64_t line, const std::string& module = "/bin/solver") {
    return Place(module + "+" + function, {{.line = line, .function = function, .file = "solver.c", .module = module}});
  }
  int64_t Stack(std::initializer_list<ElementId> sites) {
    int64_t parent = 0;
    for (const ElementId site : sites) {
      stack_rows.push_back({static_cast<int64_t>(stack_rows.size()) + 1, parent, site});
      parent = stack_rows.back().id;
    }
    return parent;
  }
  void Live(size_t number, int64_t from_ms, int64_t to_ms) {
    model::Element& element = meta.elements.at(static_cast<size_t>(thread.at(number)) - 1);
    element.start_ns = from_ms * kMs;
    element.end_ns = to_ms * kMs;
  }
  /// Computes there, with a sample every 4 ms.
  void Compute(size_t number, int64_t stack, int64_t from_ms, int64_t to_ms) {
    for (int64_t ms = from_ms + 2; ms < to_ms; ms += 4)
      cpu_samples.push_back(
          {ms * kMs, thread.at(number), 0, stack_rows.at(static_cast<size_t>(stack - 1)).site, stack, 4 * kMs});
    State(number, TimeState::kRunning, to_ms - from_ms);
  }
  void State(size_t number, TimeState state, int64_t ms) {
    state_times.push_back({.t_ns = 1000 * kMs, .element = thread.at(number), .state = state, .ns = ms * kMs});
  }
  void Alone(size_t number, int64_t from_ms, int64_t to_ms, ElementId next = 0) {
    state_times.push_back(
        {.t_ns = to_ms * kMs, .element = thread.at(number), .waker = next, .alone_ns = (to_ms - from_ms) * kMs});
  }
  std::vector<Finding> Findings() {
    auto judgement = JudgeProgram(*this);
    EXPECT_TRUE(judgement.ok());
    return std::move(judgement->findings);
  }
};

/// Two threads compute, and the first one of the process does the rest before and after.
struct Merge : Idle {
  Merge() : Idle(3) {
    run = Site("run", 5);
    part = Stack({run, Site("count_words", 10)});
    merge = Stack({Site("main", 30), Site("merge_tables", 20)});
    for (size_t worker : {1, 2}) {
      Live(worker, 0, 600);
      Compute(worker, part, 0, 600);
    }
    Compute(0, merge, 600, 1000);
    Alone(0, 600, 1000);
  }
  ElementId run = 0;
  int64_t part = 0;
  int64_t merge = 0;
};

TEST(SerialSection, IsWhatOneThreadDoesWhileTheOthersAreGone) {
  Merge program;
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "serial-section");
  EXPECT_EQ(findings[0].lost_ns, 400 * kMs);
  EXPECT_EQ(findings[0].site.function, "merge_tables");
  EXPECT_EQ(findings[0].site.line, 20);
  ASSERT_THAT(findings[0].caused_by, SizeIs(1));
  EXPECT_EQ(findings[0].caused_by[0].tid, 100);
  EXPECT_EQ(findings[0].confidence, Confidence::kHigh);
  EXPECT_THAT(findings[0].evidence.front(), HasSubstr("40 % of the run"));
  EXPECT_FALSE(findings[0].advice.empty());
}

TEST(SerialSection, IsNoneOfAProgramThatHasOneThreadAtATime) {
  Merge program;
  program.Live(2, 0, 1);
  program.state_times.clear();
  program.Alone(1, 0, 600);
  program.Alone(0, 600, 1000);
  EXPECT_THAT(program.Findings(), IsEmpty()) << "no time in which two could run";
}

TEST(SerialSection, IsNoneWhereTheOthersWaitForALockOrABarrier) {
  for (const SyncKind kind : {SyncKind::kMutex, SyncKind::kTeamBarrier, SyncKind::kMpi}) {
    Merge program;
    for (size_t worker : {1, 2}) {
      program.Live(worker, 0, 1000);
      program.Wait(program.thread[worker], program.Object("object"), program.run, kind, 600, 1000);
    }
    for (const Finding& finding : program.Findings()) EXPECT_NE(ToString(finding.kind), "serial-section");
  }
}

TEST(SerialSection, IsAlsoAStageThatAPoolOfTasksWaitsFor) {
  Idle program(2);
  const int64_t stage = program.Stack({program.Site("main", 30), program.Site("deduplicate", 17)});
  const ElementId steal = program.Site("steal", 0, "/usr/lib/x86_64-linux-gnu/libtbb.so.12");
  program.Compute(0, stage, 0, 1000);
  program.Alone(0, 0, 500);
  program.Wait(program.thread[1], program.Object("futex 0x1"), steal, SyncKind::kFutex, 0, 500);
  program.Compute(1, program.Stack({steal}), 500, 1000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "serial-section");
  EXPECT_EQ(findings[0].site.function, "deduplicate");
  EXPECT_NEAR(static_cast<double>(findings[0].lost_ns), 1000e6, 10e6) << "looking for tasks is no work";
}

TEST(SerialSection, IsAlsoWhatAMasterDoesThatTakesPart) {
  Idle program(2);
  const ElementId region = program.Site("loop", 10);
  const int64_t of_worker = program.Stack({region});
  const int64_t of_master =
      program.Stack({program.Site("main", 3), program.Site("GOMP_parallel", 0, "/lib/libgomp.so"), region});
  const int64_t sort = program.Stack({program.Site("main", 4), program.Site("sort_results", 20)});
  for (int64_t ms = 0; ms < 1000; ms += 100) {
    program.Compute(0, of_master, ms, ms + 60);
    program.Compute(1, of_worker, ms, ms + 60);
    program.Compute(0, sort, ms + 60, ms + 100);
    program.Alone(0, ms + 60, ms + 100, program.thread[1]);
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "serial-section");
  EXPECT_EQ(findings[0].site.function, "sort_results");
  EXPECT_EQ(findings[0].lost_ns, 400 * kMs);
}

/// One thread alone for 70 of 100 ms, and then two; the second one is woken by the first.
struct Wakes : Idle {
  explicit Wakes(bool goes_on) : Idle(3) {
    const int64_t makes = Stack({Site("make_parts", 10)}), uses = Stack({Site("use_parts", 20)}),
                  helps = Stack({Site("use_parts_too", 30)});
    for (int64_t ms = 0; ms < 1000; ms += 100) {
      Compute(0, makes, ms, ms + (goes_on ? 100 : 70));
      Alone(0, ms, ms + 70, thread[1]);
      Compute(1, uses, ms + 70, ms + 100);
      if (!goes_on) Compute(2, helps, ms + 70, ms + 100);
    }
    state_times.push_back({.t_ns = 1000 * kMs,
                           .element = thread[1],
                           .state = TimeState::kFutex,
                           .waker = thread[0],
                           .ns = 700 * kMs,
                           .count = 10});
  }
};

TEST(SerialSection, IsNoneOfAProducerThatGoesOn) { EXPECT_THAT(Wakes(true).Findings(), IsEmpty()); }

TEST(SerialSection, IsOneOfAMasterThatWaitsWhileTheOthersWork) {
  const auto findings = Wakes(false).Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "serial-section");
  EXPECT_EQ(findings[0].site.function, "make_parts");
}

TEST(TailImbalance, IsWhatSeveralDidUntilOneWasLeft) {
  Idle program(3);
  const ElementId run = program.Site("run_part", 5);
  const int64_t part = program.Stack({run, program.Site("process_part", 10)});
  program.Live(1, 0, 1000);
  program.Live(2, 0, 400);
  program.Compute(1, part, 0, 1000);
  program.Compute(2, part, 0, 400);
  program.Alone(1, 400, 1000);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "tail-imbalance");
  EXPECT_EQ(findings[0].lost_ns, 600 * kMs);
  EXPECT_EQ(findings[0].site.function, "process_part");
  EXPECT_EQ(findings[0].caused_by.at(0).tid, 101);
}

TEST(TailImbalance, OfLittleIsNone) {
  Idle program(3);
  const int64_t part = program.Stack({program.Site("process_part", 10)});
  for (size_t worker : {1, 2}) program.Compute(worker, part, 0, worker == 1 ? 1000 : 910);
  program.Live(2, 0, 910);
  program.Alone(1, 910, 1000);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(LateStart, IsWhatOneDidBeforeItHadCompany) {
  Idle program(3);
  const int64_t part = program.Stack({program.Site("run_worker", 10)});
  program.Live(1, 0, 1000);
  program.Live(2, 400, 1000);
  program.Compute(1, part, 0, 1000);
  program.Compute(2, part, 400, 1000);
  program.Alone(1, 0, 400, program.thread[2]);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "late-start");
  EXPECT_EQ(findings[0].lost_ns, 400 * kMs);
}

TEST(LateStart, IsWhereTheOthersAreStarted) {
  Idle program(3);
  const int64_t part = program.Stack({program.Site("run_worker", 10)});
  const ElementId start = program.Site("start_workers", 20), reads = program.Site("read_configuration", 30);
  program.Live(1, 0, 1000);
  program.Live(2, 400, 1000);
  program.Compute(1, part, 0, 1000);
  program.Compute(2, part, 400, 1000);
  program.Alone(1, 0, 399);
  program.Wait(program.thread[0], program.Object("calls"), reads, SyncKind::kSleep, 0, 399);
  program.Wait(program.thread[0], program.Object("calls"), start, SyncKind::kCreate, 399, 401);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, testing::Not(IsEmpty()));
  EXPECT_EQ(ToString(findings[0].kind), "late-start");
  EXPECT_EQ(findings[0].site.function, "start_workers");
  ASSERT_THAT(findings[0].places, SizeIs(2));
  EXPECT_EQ(findings[0].places[0].function, "run_worker");
  EXPECT_EQ(findings[0].places[1].function, "read_configuration");
}

TEST(LateStart, IsNoneWhereWhoStartsTheOthersHadToWait) {
  Idle program(3);
  const int64_t part = program.Stack({program.Site("run_worker", 10)});
  const ElementId site = program.Site("start_workers", 20);
  program.Live(2, 400, 1000);
  program.Compute(1, part, 0, 1000);
  program.Compute(2, part, 400, 1000);
  program.Alone(1, 0, 399);
  program.Wait(program.thread[0], program.Object("condition"), site, SyncKind::kCondition, 0, 399);
  program.Wait(program.thread[0], program.Object("calls"), site, SyncKind::kCreate, 399, 401);
  for (const Finding& finding : program.Findings()) EXPECT_NE(ToString(finding.kind), "late-start");
}

TEST(OwnPaths, SkipLibrariesAndAreInlinedFunctionsToo) {
  Idle program(1);
  const ElementId outer =
      program.Place("solver+1", {{.line = 7, .function = "inner", .file = "a.c", .module = "/bin/solver"},
                                 {.line = 9, .function = "outer", .file = "a.c", .module = "/bin/solver"}});
  const int64_t stack = program.Stack({outer, program.Site("qsort", 0, "/usr/lib/libc.so.6"), program.Site("less", 3)});
  const int64_t library = program.Stack({program.Site("start", 0, "/usr/lib/libc.so.6")});
  SampleSums samples{.stacks = program.stack_rows};
  const SiteNames names(program.meta, {});
  OwnPaths paths(samples, names);
  const auto& path = paths.Of(stack);
  ASSERT_THAT(path, SizeIs(3));
  EXPECT_EQ(path[0].place.function, "outer");
  EXPECT_EQ(path[1].place.function, "inner");
  EXPECT_EQ(path[1].caller, path[0].function);
  EXPECT_EQ(path[2].place.function, "less");
  EXPECT_EQ(path[2].caller, 0) << "a library called it";
  ASSERT_THAT(paths.Of(library), SizeIs(1));
  EXPECT_EQ(paths.Of(library)[0].place.function, "start") << "there is nothing better";
}

/// The sensor `thread` says that they wait for a CPU half of the time.
struct Pinned : Idle {
  explicit Pinned(int64_t cpus) : Idle(3) {
    std::vector<Signal> signals;
    for (size_t i : {1, 2}) {
      signals.push_back({thread[i], "thread", "run", "ns"});
      signals.push_back({thread[i], "thread", "wait", "ns"});
      signals.push_back({thread[i], "thread", "cpus_allowed", "cpus", model::SeriesKind::kGauge});
    }
    const model::StreamId stream = AddStream(250 * kMs, signals);
    for (int64_t ms = 250; ms <= 1000; ms += 250)
      samples[stream].push_back({ms * kMs, {ms * kMs / 2, ms * kMs / 2, cpus, ms * kMs / 2, ms * kMs / 2, cpus}});
  }
};

TEST(NarrowAffinity, IsQueueingForOneOfTwoCpus) {
  const auto findings = Pinned(1).Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "narrow-affinity");
  EXPECT_NEAR(static_cast<double>(findings[0].lost_ns), 1000.0 * kMs, kMs);
  EXPECT_EQ(findings[0].thread_count, 2);
  EXPECT_EQ(findings[0].figures.at("cpus_allowed"), 1);
}

TEST(NarrowAffinity, IsNoneWhereTheyMayUseAll) {
  const auto findings = Pinned(2).Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "other-programs") << "the program itself had half of the CPUs";
}

TEST(NarrowAffinity, IsNoneBehindOtherPrograms) {
  Pinned program(1);
  for (size_t i : {1, 2}) {
    program.State(i, TimeState::kRunning, 500);
    program.State(i, TimeState::kQueuedOthers, 500);
  }
  for (const Finding& finding : program.Findings()) EXPECT_EQ(ToString(finding.kind), "other-programs");
}

/// The sensor `cpu` says for how long of the second each of two CPUs was idle; others had what the program left.
void AddCpuUse(Pinned& program, int64_t idle_ms) {
  std::vector<Pinned::Signal> signals;
  for (int64_t number : {0, 1}) {
    const ElementId cpu = program.AddElement(model::ElementKind::kCpu, "cpu", 0, number);
    for (const char* signal : {"idle", "iowait", "user", "nice", "system", "irq", "softirq", "steal"})
      signals.push_back({cpu, "cpu", signal, "ms"});
  }
  const model::StreamId stream = program.AddStream(1000 * kMs, signals);
  for (int64_t part : {0, 1}) {
    std::vector<int64_t> row;
    for (int cpu = 0; cpu < 2; ++cpu)
      row.insert(row.end(), {part * idle_ms, 0, part * (1000 - idle_ms), 0, 0, 0, 0, 0});
    program.samples[stream].push_back({part * 1000 * kMs, row});
  }
}

TEST(NarrowAffinity, IsNoneWhereSwitchesAreNotSeenAndNoCpuIsIdle) {
  Pinned program(1);
  AddCpuUse(program, 100);
  for (const Finding& finding : program.Findings()) EXPECT_NE(ToString(finding.kind), "narrow-affinity");
}

TEST(NarrowAffinity, IsQueueingWhileTheOtherCpuIsIdle) {
  Pinned program(1);
  AddCpuUse(program, 500);
  auto judgement = JudgeProgram(program);
  ASSERT_TRUE(judgement.ok());
  ASSERT_THAT(judgement->findings, SizeIs(1));
  EXPECT_EQ(ToString(judgement->findings[0].kind), "narrow-affinity");
  const CpuAccount& cpus = judgement->account.cpus;
  EXPECT_TRUE(cpus.is_divided);
  EXPECT_NEAR(cpus.program_ns, 1000.0 * kMs, kMs);
  EXPECT_NEAR(cpus.idle_ns, 1000.0 * kMs, kMs);
  EXPECT_NEAR(cpus.others_ns, 0, kMs);
}

struct Quota : Idle {
  Quota() : Idle(2) {
    stream = AddStream(50 * kMs, {{process, "quota", "throttled", "ns"},
                                  {process, "quota", "periods", "periods"},
                                  {process, "quota", "throttled_periods", "periods"},
                                  {process, "quota", "quota", "ns", model::SeriesKind::kGauge},
                                  {process, "quota", "period", "ns", model::SeriesKind::kGauge},
                                  {process, "quota", "group", "id", model::SeriesKind::kGauge}});
  }
  void At(int64_t ms, int64_t throttled_ms, int64_t periods) {
    samples[stream].push_back({ms * kMs, {throttled_ms * kMs, periods, periods, 50 * kMs, 100 * kMs, 7}});
  }
  model::StreamId stream = 0;
};

TEST(Throttling, IsWhatTheGroupCounts) {
  Quota program;
  program.At(50, 60, 1);
  program.At(1000, 700, 10);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(ToString(findings[0].kind), "throttling");
  EXPECT_EQ(findings[0].lost_ns, 700 * kMs);
  EXPECT_EQ(findings[0].figures.at("quota_cpus"), 0.5);
  EXPECT_THAT(findings[0].evidence.front(), HasSubstr("in 10 of 10 periods"));
}

TEST(Throttling, OfBeforeTheProgramIsNone) {
  Quota program;
  program.At(50, 90'000, 5000);
  program.At(1000, 90'050, 5010);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

}  // namespace
}  // namespace attune::analysis::finding_idle_test
