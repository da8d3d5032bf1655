// Findings about how threads and processes are started, woken and waited for, from rows that were written down here.

#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis::finding_threads_test {
namespace {

using model::ElementId;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::EventKind;
using wire::SyncKind;

struct Program : ProgramSource {
  explicit Program(int threads = 3) : ProgramSource("server", threads) { meta.info["cpus_online"] = "0-1"; }

  ElementId Site(const std::string& function, int64_t line) {
    return Place("server+" + function,
                 {{.line = line, .function = function, .file = "server.c", .module = "/bin/server"}});
  }
  /// A wait that goes on: half a second after it began. Others had the lock before.
  void WaitsLong(ElementId who, ElementId object, ElementId site, SyncKind kind, int64_t since_ms, ElementId owner) {
    sync.push_back({5, who, object, site, kind, 1, 0, 0, 0, 0});
    events.push_back({(since_ms + 500) * kMs, who, EventKind::kLongWait, object, 500 * kMs, site,
                      static_cast<int64_t>(kind) | static_cast<int64_t>(owner) << wire::kLongWaitOwnerBit});
  }
  /// The kernel's account of a thread.
  void Ran(ElementId who, int64_t ms) {
    state_times.push_back({.t_ns = 1000 * kMs, .element = who, .state = model::TimeState::kRunning, .ns = ms * kMs});
  }
  std::vector<Finding> Findings(std::string_view of) {
    auto judgement = JudgeProgram(*this);
    EXPECT_TRUE(judgement.ok());
    std::erase_if(judgement->findings, [of](const Finding& finding) { return finding.kind.name != of; });
    return std::move(judgement->findings);
  }
};

/// Two threads have a lock each and wait for the other one's.
struct HungProgram : Program {
  HungProgram() {
    WaitsLong(thread[1], Object("mutex 0x1"), Site("transfer", 10), SyncKind::kMutex, 100, thread[2]);
    WaitsLong(thread[2], Object("mutex 0x2"), Site("transfer_back", 20), SyncKind::kMutex, 200, thread[1]);
  }
};

TEST(Deadlock, IsACircleOfThreadsWhileItLasts) {
  HungProgram program;
  const auto findings = program.Findings("deadlock");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "transfer_back") << "which closed the circle";
  EXPECT_EQ(findings[0].lost_ns, (900 + 800) * kMs) << "so far";
  EXPECT_EQ(findings[0].thread_count, 2);
  EXPECT_THAT(findings[0].evidence.back(), HasSubstr("for thread 102"));
}

TEST(Deadlock, IsAThreadThatWaitsForItself) {
  Program program;
  program.WaitsLong(program.thread[1], program.Object("mutex 0x1"), program.Site("update", 5), SyncKind::kMutex, 100,
                    program.thread[1]);
  const auto findings = program.Findings("deadlock");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.line, 5);
}

TEST(Deadlock, EndsWithItsThreadsAndThenIsOneStill) {
  HungProgram program;
  program.Wait(program.thread[1], program.Object("mutex 0x1"), program.Site("transfer", 10), SyncKind::kMutex, 100,
               990);
  program.events.back().object = program.events.front().object;
  EXPECT_THAT(program.Findings("deadlock"), SizeIs(1));
}

TEST(Deadlock, IsNoneWhereOneOfThemWentOn) {
  HungProgram program;
  program.Wait(program.thread[1], program.Object("mutex 0x1"), program.Site("transfer", 10), SyncKind::kMutex, 100,
               650);
  program.events.back().object = program.events.front().object;
  EXPECT_THAT(program.Findings("deadlock"), IsEmpty()) << "it lived for another 350 ms";
}

TEST(Deadlock, IsNoneOfALongChain) {
  Program program;
  program.WaitsLong(program.thread[0], program.Object("thread 0x1"), program.Site("main", 1), SyncKind::kJoin, 0,
                    program.thread[1]);
  program.WaitsLong(program.thread[1], program.Object("mutex 0x1"), program.Site("work", 2), SyncKind::kMutex, 0,
                    program.thread[2]);
  EXPECT_THAT(program.Findings("deadlock"), IsEmpty()) << "the last one runs";
}

TEST(InitialisationWait, IsWhereThreadsWaitForIt) {
  Program program;
  const ElementId once = program.Object("once 0x1");
  const ElementId site = program.Site("look_up", 30);
  program.Wait(program.thread[1], once, site, SyncKind::kOnce, 0, 300);
  program.Wait(program.thread[2], once, site, SyncKind::kOnce, 0, 300);
  const auto findings = program.Findings("initialisation-wait");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 600 * kMs);
  EXPECT_EQ(findings[0].site.function, "look_up");
}

TEST(InitialisationWait, OfAMomentIsNone) {
  Program program;
  program.Wait(program.thread[1], program.Object("once 0x1"), program.Site("look_up", 30), SyncKind::kOnce, 0, 20);
  EXPECT_THAT(program.Findings("initialisation-wait"), IsEmpty());
}

TEST(ShortThreads, AreManyThatCostMuch) {
  Program program;
  const ElementId created = program.Object("thread creations");
  const ElementId site = program.Site("start", 40);
  program.sync.push_back({5, program.thread[0], created, site, SyncKind::kCreate, 5000, 5000, 200 * kMs, 0, 0});
  const auto findings = program.Findings("short-threads");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 200 * kMs);
  EXPECT_EQ(findings[0].site.function, "start");
  program.sync[0].count = 20;  // of long lives, each slow to make
  EXPECT_THAT(program.Findings("short-threads"), IsEmpty());
}

/// A thread starts others and waits for their results.
struct FuturesProgram : Program {
  explicit FuturesProgram(int at_once) {
    const ElementId created = Object("thread creations"), futures = Object("futures");
    const ElementId starts = Site("query", 50), waits = Site("query", 51);
    for (int64_t round = 0; round < 4; ++round) {
      for (int i = 0; i < at_once; ++i)
        Wait(thread[0], created, starts, SyncKind::kCreate, round * 200, round * 200 + 1);
      for (int64_t i = 0; i < at_once; ++i)
        Wait(thread[0], futures, waits, SyncKind::kFuture, round * 200 + 1 + i, round * 200 + 150 + i);
    }
  }
};

TEST(SequentialFutures, AreWaitedForOneByOne) {
  FuturesProgram program(1);
  const auto findings = program.Findings("sequential-futures");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.line, 51);
  EXPECT_EQ(findings[0].lost_ns, 4 * 149 * kMs);
}

TEST(SequentialFutures, AreNoneWhereSeveralAreStartedFirst) {
  EXPECT_THAT(FuturesProgram(2).Findings("sequential-futures"), IsEmpty());
}

TEST(SequentialFutures, AreNoneOfAPoolWhoseThreadsWaitForTheInterpreter) {
  Program program;
  const ElementId futures = program.Object("futures"), lock = program.Object("condition 0x1");
  const ElementId results = program.Site("results", 51);
  for (int64_t at = 0; at < 800; at += 200)
    program.Wait(program.thread[0], futures, results, SyncKind::kFuture, at, at + 190);
  program.Ran(program.thread[1], 900);
  ASSERT_THAT(program.Findings("sequential-futures"), SizeIs(1)) << "one of the pool works at a time";
  const ElementId take =
      program.Place("python3.11+take_gil", {{.function = "take_gil", .module = "/usr/bin/python3.11"}});
  program.Wait(program.thread[2], lock, take, SyncKind::kCondition, 0, 700);
  EXPECT_THAT(program.Findings("sequential-futures"), IsEmpty()) << "several work, as far as they get the lock";
}

struct ChildTimes {
  int64_t count = 4;
  int64_t every_ms = 200;
  int64_t lives_ms = 190;
};
void AddChildren(Program& program, const ChildTimes& times) {
  for (int64_t i = 0; i < times.count; ++i) {
    const ElementId child = program.AddElement(model::ElementKind::kProcess, "cc", 0, 300 + i);
    program.meta.processes.push_back({.id = child,
                                      .parent = program.process,
                                      .pid = 300 + i,
                                      .start_ns = i * times.every_ms * kMs,
                                      .end_ns = (i * times.every_ms + times.lives_ms) * kMs,
                                      .user_ns = times.lives_ms * kMs * 9 / 10,
                                      .system_ns = 0});
  }
}

TEST(ChildWait, IsAlsoForWhatChildrenWrite) {
  Program program;
  AddChildren(program, {});
  for (int64_t i = 0; i < 4; ++i) {
    const ElementId child = program.meta.processes[static_cast<size_t>(i) + 1].id;
    const ElementId writer = program.AddElement(model::ElementKind::kThread, "", child, 300 + i);
    program.state_times.push_back({.t_ns = 1000 * kMs,
                                   .element = program.thread[0],
                                   .state = model::TimeState::kPipe,
                                   .waker = writer,
                                   .ns = 185 * kMs,
                                   .count = 1});
  }
  const auto findings = program.Findings("child-wait");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 740 * kMs);
  EXPECT_EQ(findings[0].thread_count, 1);
}

TEST(ChildWait, IsOfChildrenOneAfterTheOther) {
  Program program;
  const ElementId children = program.Object("children");
  const ElementId site = program.Site("build", 60);
  AddChildren(program, {});
  for (int64_t i = 0; i < 4; ++i)
    program.Wait(program.thread[0], children, site, SyncKind::kChild, i * 200, i * 200 + 190);
  const auto findings = program.Findings("child-wait");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 760 * kMs);
  EXPECT_EQ(findings[0].site.function, "build");
  for (model::Process& process : program.meta.processes) process.user_ns = 0;
  EXPECT_THAT(program.Findings("child-wait"), IsEmpty()) << "they sleep";
  const std::vector<model::Process> drivers(program.meta.processes.begin() + 1, program.meta.processes.end());
  for (const model::Process& driver : drivers) {
    const ElementId compiler = program.AddElement(model::ElementKind::kProcess, "cc1", driver.id, driver.pid + 100);
    program.meta.processes.push_back(driver);
    program.meta.processes.back().id = compiler;
    program.meta.processes.back().parent = driver.id;
    program.meta.processes.back().user_ns = 180 * kMs;
  }
  EXPECT_THAT(program.Findings("child-wait"), SizeIs(1)) << "what they start works";
  program.meta.processes.resize(program.meta.processes.size() - drivers.size());
  for (model::Process& process : program.meta.processes) {
    process.user_ns = 180 * kMs;
    if (process.parent != 0) process.start_ns = 0;
  }
  EXPECT_THAT(program.Findings("child-wait"), IsEmpty()) << "they run side by side";
}

/// A thread waits with a limit, and then works for one that waits for it.
struct LimitProgram : Program {
  LimitProgram() {
    const ElementId wakes = Site("give", 71);
    sync.push_back({5, thread[1], Object("condition 0x1"), Site("wait_for_work", 70), SyncKind::kCondition, 0, 40,
                    800 * kMs, 800 * kMs, 40});
    sync.push_back({5, thread[1], Object("semaphore 0x2"), wakes, SyncKind::kWake, 40, 0, 0, 0, 0});
    Ran(thread[1], 40);
  }
};

TEST(TimeoutWait, IsOfWaitsThatRunOut) {
  LimitProgram program;
  const auto findings = program.Findings("timeout-wait");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "wait_for_work");
  EXPECT_EQ(findings[0].lost_ns, 800 * kMs);
}

TEST(TimeoutWait, IsNoneOfAHelperOrOfHousekeeping) {
  LimitProgram beside;
  beside.Ran(beside.thread[0], 950);
  EXPECT_THAT(beside.Findings("timeout-wait"), IsEmpty()) << "another thread computes";
  LimitProgram rare;
  rare.sync[0].holds = rare.sync[0].contended = 8;
  EXPECT_THAT(rare.Findings("timeout-wait"), IsEmpty()) << "every 100 ms";
  LimitProgram woken;
  woken.sync[0].count = 20;
  woken.sync[0].holds = 20;
  EXPECT_THAT(woken.Findings("timeout-wait"), IsEmpty()) << "half of them were served";
}

TEST(PollingDelay, IsOfSleepsBetweenLooks) {
  Program program;
  program.sync.push_back({5, program.thread[0], program.Object("sleeps"), program.Site("await", 80), SyncKind::kSleep,
                          80, 80, 800 * kMs, 0, 0});
  program.sync.push_back({5, program.thread[0], program.Object("semaphore 0x2"), program.Site("ask", 81),
                          SyncKind::kWake, 80, 0, 0, 0, 0});
  program.Ran(program.thread[1], 160);
  ASSERT_THAT(program.Findings("polling-delay"), SizeIs(1));
  program.sync.pop_back();
  EXPECT_THAT(program.Findings("polling-delay"), IsEmpty()) << "a pace that somebody wanted";
}

/// A parent sleeps until each of its children has ended.
struct SupervisorProgram : Program {
  SupervisorProgram() {
    AddChildren(*this, {.count = 40, .every_ms = 20, .lives_ms = 8});
    sync.push_back({5, thread[0], Object("sleeps"), Site("supervise", 80), SyncKind::kSleep, 80, 80, 800 * kMs, 0, 0});
  }
};

TEST(PollingDelay, IsOfSleepsUntilAChildHasEnded) {
  SupervisorProgram program;
  const auto findings = program.Findings("polling-delay");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "supervise");
  for (model::Process& process : program.meta.processes) {
    if (process.parent != 0) process.end_ns = process.start_ns + 19 * kMs;
  }
  EXPECT_THAT(program.Findings("polling-delay"), IsEmpty()) << "they run as long as it sleeps";
  SupervisorProgram rare;
  rare.meta.processes.resize(4);
  EXPECT_THAT(rare.Findings("polling-delay"), IsEmpty()) << "most of its looks are not for ends";
}

TEST(PollingDelay, IsNoneOfSleepsInALock) {
  SupervisorProgram program;
  program.sync.push_back({5, program.thread[1], program.Object("mutex 0x1"), program.Site("append", 82),
                          SyncKind::kMutex, 40, 40, 500 * kMs, 0, 0});
  EXPECT_THAT(program.Findings("polling-delay"), IsEmpty());
}

/// Threads that sleep by a futex, and wake others there.
struct FutexProgram : Program {
  void Meet(int threads_in_all, int64_t waits, int64_t wakes, SyncKind kind = SyncKind::kFutex) {
    const ElementId futex = Object("futex 0x1");
    for (int i = 0; i < threads_in_all; ++i) {
      const ElementId member = thread[static_cast<size_t>(i)];
      sync.push_back({5, member, futex, Site("Lock", 90), kind, waits, waits, 400 * kMs, 0, 0});
      sync.push_back({5, member, futex, Site("Unlock", 91), SyncKind::kWake, wakes, 0, 0, 0, 0});
      Ran(member, 500);
    }
  }
};

TEST(OwnLock, IsWhereThoseWhoWaitWakeOneAnother) {
  FutexProgram program;
  program.Meet(2, 100, 100);
  const auto findings = program.Findings("lock-contention");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "Lock");
  EXPECT_EQ(findings[0].lost_ns, 800 * kMs);
  EXPECT_THAT(program.Findings("serialisation"), IsEmpty()) << "once is enough";
}

TEST(OwnLock, IsNoneWhereOneCallWakesAll) {
  FutexProgram program;
  program.Meet(3, 100, 50);
  EXPECT_THAT(program.Findings("lock-contention"), IsEmpty());
}

TEST(OwnLock, IsOneOfTwoThreadsThatMostlyGetItWhileTheyYield) {
  FutexProgram program;
  program.Meet(2, 100, 40);
  EXPECT_THAT(program.Findings("lock-contention"), SizeIs(1));
}

TEST(OwnLock, IsNoneWhereWorkersHaveNoWork) {
  FutexProgram program;
  program.Meet(2, 100, 100, SyncKind::kIdle);
  for (const char* none : {"lock-contention", "serialisation", "condition-wait"})
    EXPECT_THAT(program.Findings(none), IsEmpty()) << none;
}

TEST(ThunderingHerd, IsOfWakeUpsForNothing) {
  Program program;
  const ElementId changed = program.Object("condition 0x1");
  const ElementId waits = program.Site("take", 90);
  program.sync.push_back({5, program.thread[0], changed, program.Site("add", 91), SyncKind::kWake, 30'000, 0, 0, 0, 0});
  program.sync.push_back({5, program.thread[1], changed, waits, SyncKind::kCondition, 90'000, 90'000, 500 * kMs, 0, 0});
  for (int64_t i = 0; i < 60'000; ++i)
    program.events.push_back({(i + 1) * 10'000, program.thread[1], EventKind::kWait, changed, 9'000, waits,
                              static_cast<int64_t>(SyncKind::kCondition)});
  const auto findings = program.Findings("thundering-herd");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "add");
  program.sync[0].count = 90'000;
  EXPECT_THAT(program.Findings("thundering-herd"), IsEmpty()) << "one thread a call";
}

}  // namespace
}  // namespace attune::analysis::finding_threads_test
