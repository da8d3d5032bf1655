// What holds a program back, from rows that were written down here: the formula of each class, and where it claims
// nothing.

#include "analysis/findings/finding.h"

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "analysis/report/summary.h"
#include "analysis/waits/barrier_rounds.h"
#include "analysis/waits/lock_cause.h"
#include "analysis/waits/thread_times.h"
#include "program_source.h"

namespace attune::analysis::finding_test {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::EventKind;
using wire::SyncKind;

/// Of two CPUs.
struct Program : ProgramSource {
  explicit Program(int threads = 4) : ProgramSource("solver", threads) {
    meta.info["cpus_online"] = "0-1";
    meta.processes.front().user_ns = 900 * kMs;
    meta.processes.front().system_ns = 0;
    if (threads > 0) meta.elements.at(static_cast<size_t>(thread.front()) - 1).name = "main";
  }
  ElementId Site(const std::string& function, int64_t line) {
    return Place("solver+" + function,
                 {{.line = line, .function = function, .file = "solver.c", .module = "/bin/solver"}});
  }
  void Acquire(ElementId who, ElementId object, ElementId site, SyncKind kind, int64_t count, int64_t holds,
               int64_t hold_ms) {
    sync.push_back({500 * kMs, who, object, site, kind, count, 0, 0, hold_ms * kMs, holds});
  }
  /// In ten calls.
  void Waits(ElementId who, ElementId object, ElementId site, SyncKind kind, int64_t from_ms, int64_t to_ms) {
    const int64_t step_ms = (to_ms - from_ms) / 10;
    for (int64_t ms = from_ms; ms < to_ms; ms += step_ms) Wait(who, object, site, kind, ms, ms + step_ms);
  }
  std::vector<Finding> Findings() {
    auto judgement = JudgeProgram(*this);
    EXPECT_TRUE(judgement.ok());
    return std::move(judgement->findings);
  }
};

TEST(Findings, OfAnEmptyRecordingThereAreNone) {
  FakeSource source;
  const auto judgement = JudgeProgram(source);
  ASSERT_TRUE(judgement.ok());
  EXPECT_THAT(judgement->findings, IsEmpty());
}

TEST(LockContention, NamesWhereItIsHeldAndListsWhereItIsWaitedFor) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  const ElementId holds = program.Site("update", 10);
  const ElementId waits = program.Site("peek", 20);
  program.Acquire(program.thread[1], lock, holds, SyncKind::kMutex, 100, 2, 10);
  program.sync.push_back({5, program.thread[2], lock, waits, SyncKind::kMutex, 1000, 40, 300 * kMs, kMs / 10, 10});
  program.sync.push_back({5, program.thread[3], lock, waits, SyncKind::kMutex, 1000, 20, 100 * kMs, kMs / 10, 10});
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.kind, FindingClass::kLockContention);
  EXPECT_EQ(finding.lost_ns, 400 * kMs);
  EXPECT_THAT(finding.share, DoubleNear(0.1, 1e-9));
  EXPECT_EQ(finding.site.function, "update");
  EXPECT_EQ(finding.site.line, 10);
  EXPECT_EQ(finding.site.module, "/bin/solver");
  EXPECT_EQ(finding.object_name, "mutex 0x1");
  EXPECT_EQ(finding.thread_count, 2);
  ASSERT_THAT(finding.threads, SizeIs(2));
  EXPECT_EQ(finding.threads[0].tid, 102);
  EXPECT_EQ(finding.threads[0].pid, 100);
  EXPECT_EQ(finding.threads[0].lost_ns, 300 * kMs);
  ASSERT_THAT(finding.waiters, SizeIs(1));
  EXPECT_EQ(finding.waiters[0].function, "peek");
  EXPECT_EQ(finding.confidence, Confidence::kHigh);
  EXPECT_FALSE(finding.advice.empty());
}

TEST(LockContention, OfLittleWaitingIsNone) {
  Program program;
  const ElementId site = program.Site("f", 1);
  for (model::Element& element : program.meta.elements) element.end_ns = 2000 * kMs;
  program.meta.processes[0].end_ns = 2000 * kMs;
  // 159 ms are less than 2 % of eight seconds.
  program.sync = {{5, program.thread[1], program.Object("a"), site, SyncKind::kMutex, 9, 9, 159 * kMs, 0, 0}};
  EXPECT_THAT(program.Findings(), IsEmpty());
  program.sync[0].wait_ns = 160 * kMs;
  EXPECT_THAT(program.Findings(), SizeIs(1));
  // 99 ms are much of a program of 440 ms, and yet nothing.
  for (model::Element& element : program.meta.elements) element.end_ns = 110 * kMs;
  program.meta.processes[0].end_ns = 110 * kMs;
  program.meta.processes[0].user_ns = 0;
  program.sync[0].wait_ns = 99 * kMs;
  EXPECT_THAT(program.Findings(), IsEmpty());
  program.sync[0].wait_ns = 100 * kMs;
  EXPECT_THAT(program.Findings(), SizeIs(1));
}

TEST(LockContention, IsOfWhoHadItWhereThatIsRecorded) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  const ElementId estimated = program.Site("holds_long_elsewhere", 10);
  const ElementId real = program.Site("held_then", 30);
  program.Acquire(program.thread[1], lock, estimated, SyncKind::kMutex, 100, 2, 10);
  for (int64_t ms = 100; ms < 300; ms += 50) {
    program.Wait(program.thread[2], lock, program.Site("peek", 20), SyncKind::kMutex, ms, ms + 50);
    program.events.push_back({(ms + 49) * kMs, program.thread[3], EventKind::kHandOver, lock, 0, real,
                              static_cast<int64_t>(SyncKind::kMutex)});
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "held_then");
  ASSERT_THAT(findings[0].caused_by, SizeIs(1));
  EXPECT_EQ(findings[0].caused_by[0].tid, 103);
}

TEST(LockContention, OfManyLocksAtOnePlaceIsOne) {
  Program program;
  const ElementId holds = program.Site("update", 10), waits = program.Site("peek", 20);
  for (int i = 0; i < 10; ++i) {
    const ElementId lock = program.Object("mutex " + std::to_string(i));
    program.Acquire(program.thread[1], lock, holds, SyncKind::kMutex, 10, 1, 4);
    program.sync.push_back({5, program.thread[2], lock, waits, SyncKind::kMutex, 9, 9, (31 + i) * kMs, kMs / 10, 1});
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1)) << "each of them alone is too little";
  EXPECT_EQ(findings[0].lost_ns, 355 * kMs);
  EXPECT_EQ(findings[0].object_name, "mutex 9 and 9 more");
  EXPECT_EQ(findings[0].figures.at("objects"), 10);
  EXPECT_EQ(findings[0].thread_count, 1);
  EXPECT_EQ(findings[0].site.function, "update");
  EXPECT_THAT(findings[0].waiters, SizeIs(1));
  EXPECT_THAT(findings[0].evidence.front(), HasSubstr("1 thread waited 90 times for 10 locks, "));
}

TEST(LockContention, OfLocksThatAreEnoughAloneIsOfEach) {
  Program program;
  const ElementId site = program.Site("lock", 10);  // a function of the program that locks what it is given
  const ElementId locks[] = {program.Object("a"), program.Object("b"), program.Object("c"), program.Object("d")};
  for (const auto& [lock, ms] : {std::pair(locks[0], 300), {locks[1], 200}, {locks[2], 60}, {locks[3], 70}})
    program.Waits(program.thread[1], lock, site, SyncKind::kMutex, 100, 100 + ms);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(3));
  EXPECT_EQ(findings[0].object_name, "a");
  EXPECT_EQ(findings[1].object_name, "b");
  EXPECT_EQ(findings[2].object_name, "d and 1 more");
  EXPECT_EQ(findings[2].lost_ns, 130 * kMs);
}

TEST(LockContention, OfManyLocksEstimatesTheHoldTimeOfEach) {
  Program program;
  const ElementId holds = program.Site("update", 10), waits = program.Site("peek", 20);
  for (int i = 0; i < 10; ++i) {
    const ElementId lock = program.Object("mutex " + std::to_string(i));
    const bool is_hot = i == 0;  // often, and briefly
    program.sync.push_back({5, program.thread[1], lock, holds, SyncKind::kMutex, is_hot ? 10000 : 1, 0, 0,
                            is_hot ? 100'000 : 5 * kMs, is_hot ? 100 : 1});
    program.sync.push_back({5, program.thread[2], lock, waits, SyncKind::kMutex, 9, 9, 50 * kMs, 1000, 1});
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].figures.at("hold_seconds"), DoubleNear(0.01 + 9 * 0.005, 0.02));
}

TEST(LockContention, OfSeveralProcessesAtOnePlaceIsOne) {
  Program program(2);
  for (int i = 0; i < 3; ++i) {
    if (i > 0) {
      program.process = program.AddElement(ElementKind::kProcess, "solver", 0, 200 + i);
      program.AddThread(200 + i);
    }
    const ElementId site = program.Site("update", 10);  // each process has sites of its own
    program.Wait(program.thread.back(), program.Object("mutex 0x1"), site, SyncKind::kMutex, 100, 300 + i);
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 603 * kMs);
  EXPECT_EQ(findings[0].thread_count, 3);
  EXPECT_EQ(findings[0].figures.at("processes"), 3);
  ASSERT_THAT(findings[0].waiters, SizeIs(1));
  EXPECT_EQ(findings[0].waiters[0].threads, 3);
  EXPECT_THAT(findings[0].evidence.front(), HasSubstr("3 threads waited 3 times for 3 locks of 3 processes, "));
}

TEST(LockContention, AtAPlaceOfTheLibraryIsOfEachLockAlone) {
  Program program;
  const ElementId site =
      program.Place("solver+0x1", {{.line = 7,
                                    .function = "__gthread_mutex_lock",
                                    .file = "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
                                    .module = "/bin/solver"}});
  for (const char* name : {"mutex 0x1", "mutex 0x2"})
    program.Waits(program.thread[1], program.Object(name), site, SyncKind::kMutex, 100, 300);
  EXPECT_THAT(program.Findings(), SizeIs(2));
}

TEST(LockContention, WithoutAHoldTimeIsOfThePlaceThatAcquiresMost) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  program.sync = {{5, program.thread[1], lock, program.Site("rare", 1), SyncKind::kMutex, 4, 4, 200 * kMs, 0, 0},
                  {5, program.thread[2], lock, program.Site("often", 2), SyncKind::kMutex, 9, 0, 0, 0, 0}};
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.function, "often");
  EXPECT_EQ(findings[0].confidence, Confidence::kLow);
}

TEST(LockCauses, AreSharedOutByWhatTheOthersHold) {
  ObjectSums lock;
  // Thread 1 holds from place 1 for 30 ms, thread 2 from place 2 for 10 ms; 3 holds nothing.
  lock.places[{1, SyncKind::kMutex}][1] = {.count = 3, .holds = 3, .hold_ns = 30};
  lock.places[{2, SyncKind::kMutex}][2] = {.count = 1, .waits = 1, .wait_ns = 100, .holds = 1, .hold_ns = 10};
  lock.places[{3, SyncKind::kMutex}][3] = {.count = 1, .waits = 1, .wait_ns = 400};
  const auto causes = EstimateLockCauses(lock);
  ASSERT_THAT(causes, SizeIs(2));
  EXPECT_EQ(causes[0].site, 1u);
  EXPECT_THAT(causes[0].caused_ns, DoubleNear(100 + 300, 1e-6)) << "thread 2 does not wait for itself";
  EXPECT_EQ(causes[1].site, 2u);
  EXPECT_THAT(causes[1].caused_ns, DoubleNear(100, 1e-6));
}

TEST(LockCauses, OfReadersAreNoReaders) {
  ObjectSums lock;
  lock.places[{1, SyncKind::kReadLock}][1] = {.count = 1, .waits = 1, .wait_ns = 100, .holds = 1, .hold_ns = 500};
  lock.places[{1, SyncKind::kReadLock}][2] = {.count = 1, .waits = 1, .wait_ns = 100, .holds = 1, .hold_ns = 500};
  lock.places[{2, SyncKind::kWriteLock}][3] = {.count = 1, .holds = 1, .hold_ns = 1};
  const auto causes = EstimateLockCauses(lock);
  ASSERT_THAT(causes, SizeIs(2));
  EXPECT_EQ(causes[0].kind, SyncKind::kWriteLock);
  EXPECT_THAT(causes[0].caused_ns, DoubleNear(200, 1e-6));
  EXPECT_THAT(causes[1].caused_ns, DoubleNear(0, 1e-6));
}

TEST(LockConvoy, IsWhereHandingOverTakesLongerThanHolding) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  const ElementId site = program.Site("update", 10);
  // 40 us each: with three ahead of everybody that is 60 ms of 150.
  for (const ElementId thread : program.thread)
    program.sync.push_back({5, thread, lock, site, SyncKind::kMutex, 500, 490, 150 * kMs, kMs * 4 / 10, 10});
  auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLockConvoy);
  EXPECT_THAT(findings[0].figures.at("explained_by_holding"), DoubleNear(0.4, 0.01));
  for (model::Sync& row : program.sync) row.hold_ns = kMs * 6 / 10;  // 60 us
  EXPECT_EQ(program.Findings()[0].kind, FindingClass::kLockContention);
  for (model::Sync& row : program.sync) {
    row.hold_ns = kMs * 4 / 10;
    row.contended = 250;  // half of the calls found it free
  }
  EXPECT_EQ(program.Findings()[0].kind, FindingClass::kLockContention);
}

/// Ten rounds of 100 ms. @param late who comes at the end of a round; the others are there after 20 ms
struct BarrierProgram : Program {
  template <class Late>
  explicit BarrierProgram(const Late& late) {
    barrier = Object("barrier 0x2");
    const ElementId site = Site("meet", 40);
    for (size_t round = 0; round < 10; ++round) {
      const auto end_ms = static_cast<int64_t>(round) * 100 + 99;
      for (size_t i = 0; i < thread.size(); ++i)
        Wait(thread[i], barrier, site, SyncKind::kBarrier, i == late(round) ? end_ms : end_ms - 79, end_ms);
    }
  }
  /// The scheduler's figures of one thread, as one sample at its end.
  void Scheduled(ElementId who, int64_t run_ms, int64_t queue_ms) {
    const auto stream = AddStream(0, {{who, "thread", "run", "ns"}, {who, "thread", "wait", "ns"}});
    samples[stream] = {{1000 * kMs, {run_ms * kMs, queue_ms * kMs}}};
  }
  ElementId barrier;
};

TEST(LoadImbalance, NamesTheThreadThatIsAlwaysLast) {
  BarrierProgram program([](size_t) { return size_t{2}; });
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLoadImbalance);
  EXPECT_EQ(findings[0].lost_ns, 2370 * kMs);
  EXPECT_EQ(findings[0].site.line, 40);
  EXPECT_EQ(findings[0].thread_count, 3);
  ASSERT_THAT(findings[0].caused_by, SizeIs(1));
  EXPECT_EQ(findings[0].caused_by[0].tid, 102);
  EXPECT_EQ(findings[0].figures.at("rounds"), 10.0);
}

TEST(LoadImbalance, IsNoneWhereTheLateThreadFoundNoCpu) {
  BarrierProgram program([](size_t) { return size_t{2}; });
  program.Scheduled(program.thread[2], 200, 780);
  for (const Finding& finding : program.Findings()) EXPECT_EQ(finding.kind.name, "other-programs");
}

TEST(WaitAtBarrier, IsWhereNobodyInParticularIsLate) {
  BarrierProgram program([](size_t round) { return round % 4; });
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kWaitAtBarrier);
  EXPECT_EQ(findings[0].lost_ns, 2370 * kMs);
  EXPECT_THAT(findings[0].caused_by, IsEmpty());
  EXPECT_EQ(findings[0].site.function, "meet");
}

/// Three threads on two CPUs that meet `rounds` times in a second; two of them wait for that part of the time.
std::vector<Finding> FindingsOfMeetings(SyncKind kind, int64_t rounds, double part = 0.5) {
  Program program(3);
  const ElementId barrier = program.Object("barrier 0x2");
  const ElementId site = program.Site("meet", 40);
  const int64_t period_ns = 1000 * kMs / rounds;
  for (int64_t round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < 3; ++i) {
      const int64_t end_ns = (round + 1) * period_ns;
      const int64_t ns =
          i == static_cast<size_t>(round % 3) ? 1 : static_cast<int64_t>(part * static_cast<double>(period_ns));
      program.events.push_back(
          {end_ns, program.thread[i], EventKind::kWait, barrier, ns, site, static_cast<int64_t>(kind)});
      program.sync.push_back({end_ns, program.thread[i], barrier, site, kind, 1, 1, ns, 0, 0});
    }
  }
  return program.Findings();
}

TEST(WaitAtBarrier, OfShortLoopsSaysToUseFewerThreads) {
  const auto findings = FindingsOfMeetings(SyncKind::kTeamBarrier, 4000);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kWaitAtBarrier);
  EXPECT_THAT(findings[0].advice, HasSubstr("OMP_THREAD_LIMIT=1"));
  EXPECT_THAT(findings[0].evidence[0], HasSubstr("3 threads on 2 CPUs met 4000 times, every 250 us,"));
  EXPECT_THAT(findings[0].figures.at("period_seconds"), DoubleNear(250e-6, 1e-6));
  // Of long ones, of those that are worth it, and of barriers that are no team's, that would be no good advice.
  EXPECT_THAT(FindingsOfMeetings(SyncKind::kTeamBarrier, 4000, 0.2).at(0).advice, HasSubstr("meet less often"));
  EXPECT_THAT(FindingsOfMeetings(SyncKind::kTeamBarrier, 100).at(0).advice, HasSubstr("meet less often"));
  EXPECT_THAT(FindingsOfMeetings(SyncKind::kBarrier, 4000).at(0).advice, HasSubstr("meet less often"));
}

TEST(PlaceText, LeavesOutTheParametersOfLongFunctions) {
  const auto text = [](const std::string& function) {
    return PlaceText({.name = "libnet.so+0x10", .function = function});
  };
  EXPECT_EQ(text("Enqueue(Job&)"), "Enqueue(Job&) (libnet.so+0x10)");
  EXPECT_EQ(text("__GI___libc_write"), "write (libnet.so+0x10)");
  EXPECT_EQ(text("__GI_fsync"), "fsync (libnet.so+0x10)");
  const std::string parameters = "bool, net::Matrix const&, void (*)(net::Matrix*), net::Scratch*";
  EXPECT_EQ(text("net::Layer::Forward(" + parameters + ") const"), "net::Layer::Forward(...) const (libnet.so+0x10)");
  EXPECT_EQ(text("net::Layer::operator()(" + parameters + ")"), "net::Layer::operator()(...) (libnet.so+0x10)");
  const std::string long_name(70, 'f');
  EXPECT_EQ(text(long_name), long_name + " (libnet.so+0x10)");
  EXPECT_EQ(text(long_name + "()"), long_name + "() (libnet.so+0x10)");
  EXPECT_EQ(text(long_name + ")"), long_name + ") (libnet.so+0x10)");
}

/// Of several barriers together.
BarrierRounds RoundsOf(const std::vector<std::vector<BarrierWait>>& barriers) {
  BarrierWaits all;
  std::vector<ElementId> ids;
  for (const auto& waits : barriers) {
    ids.push_back(static_cast<ElementId>(ids.size() + 1));
    for (const BarrierWait& wait : waits) all.Add(ids.back(), wait);
  }
  return all.RoundsAt(ids);
}

TEST(BarrierRounds, AreWhatSharesAMoment) {
  // Thread 1 is at the next round before thread 2 has woken up from the one before.
  const std::vector<BarrierWait> waits = {{10, 21, 1, 7}, {20, 30, 2, 7}, {25, 51, 1, 7}, {50, 52, 2, 8}};
  const BarrierRounds rounds = RoundsOf({waits});
  EXPECT_EQ(rounds.rounds, 2);
  EXPECT_EQ(rounds.threads, 2);
  EXPECT_THAT(rounds.participants, DoubleNear(2, 1e-9));
  EXPECT_EQ(rounds.span_ns, 52 - 10);
  ASSERT_THAT(rounds.late, SizeIs(1));
  EXPECT_EQ(rounds.late[0].thread, 2u);
  EXPECT_EQ(rounds.late[0].rounds, 2);
  EXPECT_THAT(rounds.late[0].by_site_ns, ElementsAre(testing::Pair(7u, 11 + 10), testing::Pair(8u, 26 + 2)));
}

TEST(BarrierRounds, OfSeveralBarriersAddUp) {
  const BarrierRounds rounds = RoundsOf({{{10, 21, 1, 7}, {20, 30, 2, 7}}, {{15, 26, 3, 7}, {25, 35, 4, 7}}});
  EXPECT_EQ(rounds.rounds, 2) << "though they overlap";
  EXPECT_EQ(rounds.threads, 4);
  EXPECT_THAT(rounds.participants, DoubleNear(2, 1e-9));
  EXPECT_EQ(rounds.span_ns, 20 + 20);
  EXPECT_THAT(rounds.late, SizeIs(2));
}

/// Sixteen processes of two threads, which meet every 100 ms; the second one comes 19 ms later, each time.
struct PairsProgram : Program {
  explicit PairsProgram(int64_t rounds) : Program(2) {
    for (int i = 0; i < 16; ++i) {
      if (i > 0) {
        process = AddElement(ElementKind::kProcess, "solver", 0, 200 + 10 * i);
        AddThread(200 + 10 * i);
        AddThread(201 + 10 * i);
      }
      const ElementId site = Site("meet", 30);  // each process has sites of its own
      const ElementId barrier = Object("barrier 0x1");
      for (int64_t end = 100; end <= rounds * 100; end += 100) {
        Wait(thread[thread.size() - 2], barrier, site, SyncKind::kBarrier, end - 20, end);
        Wait(thread.back(), barrier, site, SyncKind::kBarrier, end - 1, end);
      }
    }
  }
};

TEST(LoadImbalance, OfSeveralProcessesAtOnePlaceIsOne) {
  const auto findings = PairsProgram(10).Findings();
  ASSERT_THAT(findings, SizeIs(1)) << "of each process it is less than 1 %";
  EXPECT_EQ(findings[0].kind, FindingClass::kLoadImbalance);
  EXPECT_EQ(findings[0].lost_ns, 16 * 10 * 21 * kMs);
  EXPECT_EQ(findings[0].caused_by.size(), 16u);
  EXPECT_THAT(findings[0].evidence.front(),
              HasSubstr("32 threads of 16 processes on 2 CPUs met 160 times, every 92 ms"));
}

TEST(LoadImbalance, IsNotThatEachProcessHasALastThread) {
  PairsProgram program(3);
  for (model::Element& element : program.meta.elements) element.end_ns = 300 * kMs;
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kWaitAtBarrier) << "they met three times";
}

/// Four threads, of which one goes on at a time for 50 ms and wakes the next.
struct TurnsProgram : Program {
  TurnsProgram() {
    const ElementId turn = Object("condition 0x3");
    const ElementId waits = Site("wait_turn", 50);
    const ElementId wakes = Site("pass_on", 60);
    for (int64_t slot = 0; slot < 20; ++slot) {
      for (size_t i = 0; i < thread.size(); ++i) {
        if (i == static_cast<size_t>(slot) % 4)
          sync.push_back({slot, thread[i], turn, wakes, SyncKind::kWake, 1, 0, 0, 0, 0});
        else
          Wait(thread[i], turn, waits, SyncKind::kCondition, slot * 50, slot * 50 + 50);
      }
    }
  }
};

TEST(Serialisation, IsWhereThreadsTakeTurns) {
  TurnsProgram program;
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  const Finding& finding = findings[0];
  EXPECT_EQ(finding.kind, FindingClass::kSerialisation);
  EXPECT_THAT(static_cast<double>(finding.lost_ns), DoubleNear(3000 * kMs, 10 * kMs));
  EXPECT_EQ(finding.site.function, "pass_on");
  EXPECT_EQ(finding.confidence, Confidence::kHigh);
  ASSERT_THAT(finding.waiters, SizeIs(1));
  EXPECT_EQ(finding.waiters[0].function, "wait_turn");
}

TEST(Serialisation, IsFoundAlsoWhereHandsChangeOften) {
  Program program;
  const ElementId turn = program.Object("futex 0x3");
  const ElementId waits = program.Site("wait_turn", 50);
  // In each 10 ms the one whose turn it was and the one whose turn it is both go on for 1 ms: 90 % are serial.
  for (int64_t slot = 0; slot < 100; ++slot) {
    for (size_t i = 0; i < program.thread.size(); ++i) {
      if (i == static_cast<size_t>(slot) % 4) continue;
      const bool was = i == static_cast<size_t>(slot + 3) % 4;
      program.Wait(program.thread[i], turn, waits, SyncKind::kFutex, slot * 10 + (was ? 1 : 0), slot * 10 + 10);
    }
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kSerialisation);
  EXPECT_EQ(findings[0].lost_ns, 2900 * kMs) << "every wait, to the last";
  EXPECT_THAT(findings[0].figures.at("serial_seconds"), DoubleNear(0.9, 0.01));
  EXPECT_EQ(findings[0].site.function, "wait_turn") << "nobody was seen to wake the others";
}

/// Four threads take turns of 50 ms; whoever passed the turn on finds no CPU for 30 ms before it waits itself.
struct PreemptedTurnsProgram : Program {
  PreemptedTurnsProgram() {
    const ElementId turn = Object("condition 0x3");
    const ElementId waits = Site("wait_turn", 50);
    for (int64_t slot = 0; slot < 20; ++slot) {
      for (size_t i = 0; i < thread.size(); ++i) {
        if (i == static_cast<size_t>(slot) % 4) continue;
        const bool was = i == static_cast<size_t>(slot + 3) % 4;
        Wait(thread[i], turn, waits, SyncKind::kCondition, slot * 50 + (was ? 30 : 0), slot * 50 + 50);
      }
    }
  }
  void Wake(ElementId who, int64_t times = 20) {
    sync.push_back({5, who, meta.sites[0].id - 1, Site("pass_on", 60), SyncKind::kWake, times, 0, 0, 0, 0});
  }
};

TEST(Serialisation, IsFoundWhereWhoeverPassesTheTurnOnIsPreempted) {
  PreemptedTurnsProgram program;
  for (const ElementId id : program.thread) program.Wake(id);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kSerialisation);
  EXPECT_EQ(findings[0].site.function, "pass_on");
  program.meta.processes[0].user_ns = 1500 * kMs;  // then more than one runs
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(Serialisation, IsFoundAlsoWhereMostSignalsFindNobodyWaiting) {
  PreemptedTurnsProgram program;
  for (const ElementId id : program.thread) program.Wake(id);
  program.Wake(program.thread[0], 100'000);  // before there were others
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kSerialisation);
}

TEST(Serialisation, IsNoneWhereOneWakesTheOthers) {
  PreemptedTurnsProgram program;
  program.Wake(program.AddElement(ElementKind::kThread, "", program.process, 999));
  for (const Finding& finding : program.Findings()) EXPECT_NE(finding.kind, FindingClass::kSerialisation);
}

TEST(Serialisation, IsNoneOfAnIdlePool) {
  Program program;
  const ElementId work = program.Object("condition 0x3");
  const ElementId site = program.Site("wait_for_work", 50);
  // The main thread sleeps or computes; the workers get to do nothing.
  for (size_t i = 1; i < program.thread.size(); ++i)
    program.Wait(program.thread[i], work, site, SyncKind::kCondition, 0, 995);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(Serialisation, IsNoneOfAProgramThatDoesNothing) {
  Program program(2);
  program.meta.processes[0].user_ns = 10 * kMs;
  const ElementId work = program.Object("condition 0x3");
  const ElementId site = program.Site("wait_for_work", 50);
  for (int64_t i = 0; i < 10; ++i)  // the main thread polls something, and now and then there is work
    program.Wait(program.thread[1], work, site, SyncKind::kCondition, i * 100, i * 100 + 95);
  EXPECT_THAT(program.Findings(), IsEmpty());
}

TEST(Serialisation, IsTheLocksOwnFindingWhereOneLockDoesIt) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  const ElementId site = program.Site("all_of_it", 70);
  for (int64_t slot = 0; slot < 20; ++slot) {
    for (size_t i = 0; i < 4; ++i) {
      if (i != static_cast<size_t>(slot) % 4)
        program.Wait(program.thread[i], lock, site, SyncKind::kMutex, slot * 50, slot * 50 + 50);
    }
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLockContention);
}

TEST(ConditionWait, IsWhereABusyThreadDoesNotKeepUp) {
  Program program(8);
  program.meta.info["cpus_allowed"] = "0-15";
  program.meta.processes[0].user_ns = 2600 * kMs;
  const ElementId work = program.Object("condition 0x3");
  const ElementId waits = program.Site("wait_for_work", 50);
  const ElementId wakes = program.Site("produce", 60);
  program.sync.push_back({0, program.thread[0], work, wakes, SyncKind::kWake, 70, 0, 0, 0, 0});
  const auto stream =
      program.AddStream(0, {{program.thread[0], "thread", "run", "ns"}, {program.thread[0], "thread", "wait", "ns"}});
  program.samples[stream] = {{1000 * kMs, {900 * kMs, 0}}};
  for (size_t i = 1; i < 8; ++i) {
    for (int64_t item = 0; item < 10; ++item)  // 70 of 100 ms; the consumers do not all wait at once
      program.Wait(program.thread[i], work, waits, SyncKind::kCondition,
                   std::min<int64_t>(930, item * 100 + static_cast<int64_t>(i) * 14),
                   std::min<int64_t>(1000, item * 100 + static_cast<int64_t>(i) * 14 + 70));
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kConditionWait);
  EXPECT_EQ(findings[0].lost_ns, 4900 * kMs);
  EXPECT_EQ(findings[0].site.function, "produce");
  ASSERT_THAT(findings[0].caused_by, SizeIs(1));
  EXPECT_EQ(findings[0].caused_by[0].tid, 100);
  program.samples[stream][0].second[0] = 500 * kMs;  // the producer is not busy: there is no more work
  EXPECT_THAT(program.Findings(), IsEmpty());
}

/// Two threads that call files for half of their life and run for a part of that.
struct DiskProgram : Program {
  explicit DiskProgram(int64_t run_ms, int64_t accounted_ms = -1) : Program(2) {
    files = Object("files");
    site = Site("load", 30);
    for (const ElementId id : thread) {
      sync.push_back({900 * kMs, id, files, site, SyncKind::kFile, 100, 100, 500 * kMs, 0, 0});
      std::vector<FakeSource::Signal> signals = {{id, "thread", "wait", "ns"}, {id, "thread", "run", "ns"}};
      if (accounted_ms >= 0) signals.insert(signals.begin(), {id, "thread", "io_wait", "ns"});
      const auto stream = AddStream(250 * kMs, signals);
      for (const int64_t part : {1, 2}) {
        std::vector<int64_t> values = {part * kMs / 2, part * run_ms * kMs / 2};
        if (accounted_ms >= 0) values.insert(values.begin(), part * accounted_ms * kMs / 2);
        samples[stream].emplace_back(part * 500 * kMs, values);
      }
    }
  }
  ElementId files, site;
};

TEST(IoWait, IsTheTimeOfCallsOfFilesInWhichAThreadDoesNotCompute) {
  DiskProgram waits(100);
  auto findings = waits.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kIoWait);
  EXPECT_EQ(findings[0].lost_ns, 1000 * kMs);
  EXPECT_EQ(findings[0].share, 0.5);
  EXPECT_EQ(findings[0].site.line, 30);
  EXPECT_EQ(findings[0].thread_count, 2);
  EXPECT_EQ(findings[0].confidence, Confidence::kMedium);
  EXPECT_THAT(findings[0].waiters, SizeIs(1));
  DiskProgram computes_too(700);
  findings = computes_too.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(static_cast<double>(findings[0].lost_ns), DoubleNear(598 * kMs, kMs));
  DiskProgram copies(995);
  EXPECT_THAT(copies.Findings(), IsEmpty()) << "from the page cache";
}

TEST(Finding, WithoutANameIsBelowTheFunctionFromWhichSamplesComeThere) {
  DiskProgram program(100);
  const auto site = std::ranges::find(program.meta.sites, program.site, &model::Site::id);
  *site = {.id = program.site,
           .function = "libdb.so.0+0x10 (no symbols)",
           .module = "/usr/lib/libdb.so.0",
           .build_id = "ab"};
  const auto place = [&](const std::string& function) {
    return program.Place(function, {{.function = function, .module = "/usr/lib/libdb.so.0.8", .build_id = "ab"}});
  };
  const ElementId begin = place("start_thread"), step = place("db_step"), commit = place("libdb.so+0x40 (no symbols)"),
                  check = place("db_check"), here = place("libdb.so.0.8+0x10 (no symbols)");
  const auto sample = [&](std::initializer_list<ElementId> path) {
    int64_t stack = 0;
    for (const ElementId each : path) {
      program.stack_rows.push_back({static_cast<int64_t>(program.stack_rows.size()) + 1, stack, each});
      stack = program.stack_rows.back().id;
    }
    program.cpu_samples.push_back({10 * kMs, program.thread[0], 0, *std::prev(path.end()), stack, 4 * kMs});
  };
  EXPECT_EQ(program.Findings().at(0).site.below, "") << "no samples";
  for (int i = 0; i < 3; ++i) sample({begin, step, commit, here});
  sample({begin, check, here});
  sample({begin, check});
  sample({begin, here});
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.below, "db_step");
  EXPECT_THAT(PlaceText(findings[0].site), testing::StartsWith("code below db_step ("));
}

TEST(IoWait, IsWhatTheKernelAccountsForWhereItDoes) {
  DiskProgram program(100, 600);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 1200 * kMs) << "also of files that are mapped";
  EXPECT_EQ(findings[0].confidence, Confidence::kHigh);
  EXPECT_EQ(findings[0].figures.at("accounted"), 1);
  DiskProgram mapped(100, 600);
  mapped.sync.clear();
  const auto without_calls = mapped.Findings();
  ASSERT_THAT(without_calls, SizeIs(1));
  EXPECT_TRUE(without_calls[0].site.name.empty());
  EXPECT_EQ(without_calls[0].confidence, Confidence::kMedium);
}

TEST(IoWait, OfThreadsThatWereNotSampledIsAGuess) {
  DiskProgram program(100);
  program.samples.clear();
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].confidence, Confidence::kLow);
}

TEST(IoWait, IsNotWaitingForEachOther) {
  DiskProgram program(100);
  for (const ElementId id : program.thread)
    program.events.push_back({900 * kMs, id, EventKind::kWait, program.files, 890 * kMs, program.site,
                              static_cast<int64_t>(SyncKind::kFile)});
  EXPECT_THAT(program.Findings(), SizeIs(1)) << "no serialisation";
}

TEST(Findings, AreRankedAndInTheJsonReport) {
  Program program;
  const ElementId f = program.Site("f", 1), g = program.Site("g", 2);
  program.sync = {{5, program.thread[1], program.Object("small"), f, SyncKind::kMutex, 9, 9, 110 * kMs, 0, 0},
                  {5, program.thread[1], program.Object("large"), g, SyncKind::kMutex, 9, 9, 190 * kMs, 0, 0}};
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  ASSERT_THAT(summary->findings, SizeIs(2));
  EXPECT_EQ(summary->findings[0].object_name, "large");
  EXPECT_THAT(ToJson(*summary), HasSubstr("\"class\": \"lock-contention\""));
  const auto empty = Summarise(*std::make_unique<FakeSource>());
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(ToJson(*empty), HasSubstr("\"findings\": []"));
}

TEST(Findings, SurviveRowsThatLie) {
  Program program;
  for (const auto kind : {SyncKind::kMutex, SyncKind::kBarrier, SyncKind::kCondition, SyncKind::kReadLock}) {
    for (const int64_t ns : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
      program.sync.push_back({5, program.thread[1], 998, 997, kind, INT64_MAX, INT64_MAX, ns, ns, 1});
      program.sync.push_back({5, 999, 998, 997, kind, -5, -5, ns, ns, -1});
      program.events.push_back({ns, 999, EventKind::kWait, 998, ns, 997, static_cast<int64_t>(kind)});
      program.events.push_back({5, program.thread[1], EventKind::kWait, 998, ns, 997, static_cast<int64_t>(kind)});
    }
  }
  program.meta.elements.back().start_ns = INT64_MAX;
  program.meta.elements.back().end_ns = INT64_MIN + 1;
  EXPECT_TRUE(JudgeProgram(program).ok());
}

}  // namespace
}  // namespace attune::analysis::finding_test
