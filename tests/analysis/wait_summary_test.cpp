// What threads waited for, from rows that were written down here.

#include "analysis/waits/wait_summary.h"

#include <gmock/gmock.h>

#include "analysis/report/summary.h"
#include "program_source.h"

namespace attune::analysis::wait_summary_test {
namespace {

using model::ElementId;
using testing::DoubleNear;
using testing::IsEmpty;
using wire::SyncKind;

struct Program : ProgramSource {
  Program() : ProgramSource("solver", 2), main_thread(thread.at(0)), other_thread(thread.at(1)) {}

  const ElementId main_thread, other_thread;
};

TEST(WaitSummary, OfAProgramThatNeverWaitsIsEmpty) {
  Program program;
  const ElementId site = program.Place("solver+0x10");
  program.sync = {{5, program.main_thread, program.Object("mutex 0x1"), site, SyncKind::kMutex, 1000, 0, 0, 100, 16}};
  const auto waits = SummariseWaits(program);
  ASSERT_TRUE(waits.ok());
  EXPECT_THAT(waits->locks, IsEmpty());
  EXPECT_THAT(waits->others, IsEmpty());
  EXPECT_EQ(waits->acquisitions, 1000);
}

TEST(WaitSummary, AddsUpThreadsSitesAndRows) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  const ElementId small = program.Object("rwlock 0x2");
  const ElementId here = program.Place("solver+0x10", {{.frame = 0, .line = 12, .function = "work", .file = "a.c"}});
  const ElementId there = program.Place("solver+0x20");
  program.sync = {{5, program.main_thread, lock, here, SyncKind::kMutex, 100, 10, 100 * kMs, 2 * kMs, 2},
                  {6, program.main_thread, lock, here, SyncKind::kMutex, 100, 10, 100 * kMs, 2 * kMs, 2},
                  {6, program.other_thread, lock, there, SyncKind::kMutex, 200, 20, 300 * kMs, 0, 0},
                  {6, program.other_thread, small, there, SyncKind::kReadLock, 1, 1, 1 * kMs, 0, 0},
                  {6, program.other_thread, small, there, SyncKind::kWriteLock, 2, 2, 2 * kMs, 0, 0}};
  const auto waits = SummariseWaits(program);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(waits->thread_ns, 2000 * kMs);
  EXPECT_EQ(waits->wait_ns, 503 * kMs);
  ASSERT_EQ(waits->locks.size(), 2u);
  const WaitObject& most = waits->locks[0];
  EXPECT_EQ(most.name, "mutex 0x1");
  EXPECT_EQ(most.kind, "mutex");
  EXPECT_EQ(most.pid, 100);
  EXPECT_EQ(most.threads, 2);
  EXPECT_EQ(most.count, 400);
  EXPECT_EQ(most.waits, 40);
  EXPECT_EQ(most.wait_ns, 500 * kMs);
  EXPECT_THAT(most.share, DoubleNear(0.25, 1e-9));
  EXPECT_THAT(most.contended, DoubleNear(0.1, 1e-9));
  EXPECT_EQ(most.held_ns, 400 * kMs) << "1 ms each, of the four that were looked at";
  ASSERT_EQ(most.sites.size(), 2u);
  EXPECT_EQ(most.sites[0].name, "solver+0x20");
  EXPECT_EQ(most.sites[0].function, "");
  EXPECT_EQ(most.sites[1].function, "work");
  EXPECT_EQ(most.sites[1].line, 12);
  EXPECT_EQ(most.sites[1].waits, 20);
  EXPECT_EQ(most.sites[1].threads, 1);
  EXPECT_EQ(waits->locks[1].kind, "rwlock");
  EXPECT_EQ(waits->locks[1].count, 3);
  EXPECT_EQ(waits->locks[1].held_ns, model::kAbsent);
  EXPECT_EQ(waits->locks[1].sites.size(), 2u) << "reading and writing at one place are told apart";
}

TEST(WaitSummary, EachPlaceIsHeldAsItsOwnSamplesSay) {
  Program program;
  const ElementId lock = program.Object("mutex 0x1");
  const ElementId rare = program.Place("solver+0x10"), often = program.Place("solver+0x20");
  // Samples of rare acquisitions weigh more in all of them together: two of 8 ms, and ten of 1 us.
  program.sync = {{5, program.main_thread, lock, rare, SyncKind::kMutex, 200, 10, 10 * kMs, 16 * kMs, 2},
                  {6, program.other_thread, lock, often, SyncKind::kMutex, 640, 10, 100 * kMs, kMs / 100, 10}};
  const auto waits = SummariseWaits(program);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(waits->locks[0].held_ns, 200 * 8 * kMs + 640 * kMs / 1000);
}

TEST(WaitSummary, ConditionsAndTheirLikeAreNoLocks) {
  Program program;
  const ElementId condition = program.Object("condition 0x3");
  const ElementId site = program.Place("solver+0x30");
  program.sync = {{5, program.main_thread, condition, site, SyncKind::kWake, 50, 0, 0, 0, 0},
                  {5, program.other_thread, condition, site, SyncKind::kCondition, 3, 4, 700 * kMs, 0, 0},
                  {6, program.main_thread, condition, site, SyncKind::kWake, 50, 0, 0, 0, 0},
                  {6, program.main_thread, program.Object("thread 0x4"), site, SyncKind::kJoin, 1, 1, 900 * kMs, 0, 0}};
  const auto waits = SummariseWaits(program);
  ASSERT_TRUE(waits.ok());
  EXPECT_THAT(waits->locks, IsEmpty());
  ASSERT_EQ(waits->others.size(), 2u);
  EXPECT_EQ(waits->others[0].kind, "join");
  EXPECT_EQ(waits->others[1].kind, "condition");
  EXPECT_EQ(waits->others[1].count, 3) << "wake-ups are no waits";
  EXPECT_EQ(waits->others[1].waits, 4);
  EXPECT_THAT(waits->others[1].contended, DoubleNear(1, 1e-9)) << "one's time was up";
  EXPECT_EQ(waits->acquisitions, 0);
}

TEST(WaitSummary, ThreadsWhoseLifeWasNotSeenLivedAsLongAsTheyWaited) {
  Program program;
  const ElementId brief = program.AddThread(102);
  program.meta.elements.back().start_ns = 999 * kMs;  // it was seen late
  program.sync = {{5, brief, program.Object("mutex 0x1"), program.Place("x"), SyncKind::kMutex, 1, 1, 500 * kMs, 0, 0}};
  const auto waits = SummariseWaits(program);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(waits->thread_ns, 2500 * kMs);
}

TEST(WaitSummary, ShowsTheFrameOfTheReadersOwnCode) {
  const std::vector<model::Site> frames = {
      {.frame = 0, .inlined = true, .function = "lock", .file = "/usr/include/c++/12/mutex"},
      {.frame = 1, .inlined = true, .function = "Add", .file = "/src/queue.cpp"},
      {.frame = 2, .function = "main", .file = "/src/main.cpp"}};
  EXPECT_EQ(ShownFrame(frames)->function, "Add");
  EXPECT_EQ(ShownFrame(std::span(frames).first(1))->function, "lock");
  EXPECT_EQ(ShownFrame({}), nullptr);
}

TEST(WaitSummary, SurvivesRowsThatLie) {
  Program program;
  program.sync = {{5, 999, 998, 997, SyncKind::kMutex, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 1},
                  {5, 999, 998, 997, SyncKind::kMutex, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 1}};
  const auto waits = SummariseWaits(program);
  ASSERT_TRUE(waits.ok());
  ASSERT_EQ(waits->locks.size(), 1u);
  EXPECT_EQ(waits->locks[0].wait_ns, INT64_MAX);
  EXPECT_EQ(waits->locks[0].name, "");
  EXPECT_EQ(waits->locks[0].held_ns, INT64_MAX);
}

TEST(WaitSummary, IsInTheJsonReport) {
  Program program;
  program.sync = {
      {5, program.main_thread, program.Object("mutex 0x1"), program.Place("x"), SyncKind::kMutex, 4, 1, 7, 0, 0}};
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  EXPECT_THAT(ToJson(*summary), testing::HasSubstr("\"name\": \"mutex 0x1\""));
}

}  // namespace
}  // namespace attune::analysis::wait_summary_test
