// How much shorter a program could be without waiting for a lock: the bounds, from rows that were written down here.

#include "analysis/waits/lock_relief.h"

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "program_source.h"

namespace attune::analysis::lock_relief_test {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::SyncKind;

/// A process of three threads, and a lock.
struct Program : ProgramSource {
  explicit Program(int64_t cpu_ms = 300) : ProgramSource("bank", 3) {
    meta.processes.front().user_ns = cpu_ms * kMs;
    meta.processes.front().system_ns = 0;
    meta.info["cpus_online"] = "0-1";
    lock = Object("mutex 0xa");
    site = Place("bank+0x1");
  }
  void Wait(size_t who, int64_t from_ms, int64_t to_ms, SyncKind kind = SyncKind::kMutex) {
    ProgramSource::Wait(thread.at(who), lock, site, kind, from_ms, to_ms);
  }
  Relief Find(size_t cpus = 2) {
    LockWaits lock_waits;
    EXPECT_TRUE(ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
                  lock_waits.AddEvents(block);
                  return true;
                }).ok());
    return RelieveOf(lock_waits, *ReadWaitTables(*this), meta, {&lock, 1}, cpus);
  }

  ElementId lock, site;
};

TEST(LockRelief, NoMomentIsSavedTwice) {
  Program program;
  program.Wait(0, 100, 300);
  program.Wait(1, 200, 400);
  program.Wait(2, 600, 700);
  program.Wait(0, 610, 690);
  program.Wait(1, 500, 1000);
  program.Wait(0, 500, 610);
  // Covered: 100 to 400, 500 to 1000. Each thread does something else for 300 ms at least; the third one for 900.
  EXPECT_EQ(program.Find().life_ns, 1000 * kMs);
  EXPECT_EQ(program.Find().shorter_ns, 100 * kMs) << "the third thread has work for 900 ms";
  program.Wait(2, 0, 600);
  EXPECT_EQ(program.Find().shorter_ns, 1000 * kMs - 610 * kMs) << "the first one waits for 390 ms";
}

TEST(LockRelief, IsNoMoreThanTheTimeInWhichSomebodyWaits) {
  Program program(0);
  program.Wait(0, 100, 300);
  program.Wait(1, 150, 300);
  program.Wait(2, 100, 350);
  EXPECT_EQ(program.Find().shorter_ns, 150 * kMs) << "covered are 250 ms, but the second thread works for 850";
  program.Wait(1, 400, 1000, SyncKind::kCondition);
  program.Wait(0, 400, 1000, SyncKind::kCondition);
  program.Wait(2, 400, 1000, SyncKind::kCondition);
  EXPECT_EQ(program.Find().shorter_ns, 250 * kMs) << "waiting for others is not saved";
}

TEST(LockRelief, AllOfTheWorkNeedsItsCpus) {
  Program program(1800);
  for (size_t i = 0; i < 3; ++i) program.Wait(i, 0, 900);
  EXPECT_EQ(program.Find(2).shorter_ns, 100 * kMs);
  EXPECT_EQ(program.Find(0).shorter_ns, 900 * kMs) << "it is not known how many there are";
}

TEST(LockRelief, IsSaidWithTheFinding) {
  Program program;
  for (size_t i = 0; i < 3; ++i) program.Wait(i, 100, 600);
  const auto judgement = JudgeProgram(program);
  ASSERT_TRUE(judgement.ok());
  ASSERT_THAT(judgement->findings, SizeIs(1));
  const Finding& finding = judgement->findings.front();
  EXPECT_DOUBLE_EQ(finding.figures.at("shorter_at_most"), 0.5);
  EXPECT_DOUBLE_EQ(finding.figures.at("shorter_at_most_seconds"), 0.5);
  EXPECT_EQ(finding.figures.at("shorter_is_replayed"), 1);
  EXPECT_THAT(finding.evidence.at(1), HasSubstr("at most 500 ms (50 %) shorter"));
}

TEST(LockRelief, IsTheWhatIfOfTheCriticalPath) {
  Program program;
  program.Wait(0, 100, 600);
  program.Wait(1, 200, 400);
  const auto judgement = JudgeProgram(program);
  ASSERT_TRUE(judgement.ok());
  ASSERT_THAT(judgement->critical_path.what_ifs, SizeIs(1));
  EXPECT_EQ(judgement->critical_path.what_ifs.front().saved_ns, 0) << "the third thread works to the end";
  EXPECT_THAT(judgement->findings, IsEmpty()) << "nothing could be gained";
}

TEST(LockRelief, BoundsTheWhatIfByTheWorkOfAllCpus) {
  Program program(1800);
  for (size_t i = 0; i < 3; ++i) program.Wait(i, 0, 900);
  const auto judgement = JudgeProgram(program);
  ASSERT_TRUE(judgement.ok());
  ASSERT_THAT(judgement->critical_path.what_ifs, SizeIs(1));
  EXPECT_EQ(judgement->critical_path.what_ifs.front().saved_ns, 100 * kMs) << "the replay alone says 900 ms";
}

TEST(LockRelief, OfFurtherProcessesIsABound) {
  Program program;
  for (size_t i = 0; i < 3; ++i) program.Wait(i, 100, 600);
  // Another process has more thread time: the critical path is that one's.
  const ElementId other = program.AddElement(ElementKind::kProcess, "other", 0, 200);
  program.meta.processes.push_back({.id = other, .pid = 200, .start_ns = 0, .end_ns = 1000 * kMs});
  for (int i = 0; i < 4; ++i) {
    program.AddElement(ElementKind::kThread, "", other, 200 + i);
    program.meta.elements.back().start_ns = 0;
    program.meta.elements.back().end_ns = 1000 * kMs;
  }
  const auto judgement = JudgeProgram(program);
  ASSERT_TRUE(judgement.ok());
  ASSERT_THAT(judgement->findings, SizeIs(1));
  EXPECT_EQ(judgement->findings.front().figures.at("shorter_is_replayed"), 0);
  EXPECT_DOUBLE_EQ(judgement->findings.front().figures.at("shorter_at_most_seconds"), 0.5);
}

TEST(LockRelief, OfALockThatIsNotThereNothingIsKnown) {
  Program program;
  program.lock = 999;
  EXPECT_EQ(program.Find().life_ns, 0);
}

}  // namespace
}  // namespace attune::analysis::lock_relief_test
