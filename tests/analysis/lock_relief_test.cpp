// How much shorter a program could be without waiting for a lock: the bounds, from rows that were written down here.

#include "analysis/lock_relief.h"

#include <gmock/gmock.h>

#include "analysis/finding.h"
#include "fake_source.h"

namespace attune::analysis {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::HasSubstr;
using testing::SizeIs;
using wire::EventKind;
using wire::SyncKind;

constexpr int64_t kMs = 1'000'000;

/// A process of a second with three threads, and a lock.
struct Program : FakeSource {
  explicit Program(int64_t cpu_ms = 300) {
    extent = {0, 1000 * kMs};
    process = AddElement(ElementKind::kProcess, "bank", 0, 100);
    meta.processes.push_back(
        {.id = process, .pid = 100, .start_ns = 0, .end_ns = 1000 * kMs, .user_ns = cpu_ms * kMs, .system_ns = 0});
    meta.info["cpus_online"] = "0-1";
    for (int i = 0; i < 3; ++i) {
      thread.push_back(AddElement(ElementKind::kThread, "", process, 100 + i));
      meta.elements.back().start_ns = 0;
      meta.elements.back().end_ns = 1000 * kMs;
    }
    lock = AddElement(ElementKind::kLock, "mutex 0xa", process);
    site = AddElement(ElementKind::kSite, "bank+0x1", process);
  }
  void Wait(size_t who, int64_t from_ms, int64_t to_ms, SyncKind kind = SyncKind::kMutex) {
    const int64_t ns = (to_ms - from_ms) * kMs;
    events.push_back({to_ms * kMs, thread[who], EventKind::kWait, lock, ns, site, static_cast<int64_t>(kind)});
    sync.push_back({to_ms * kMs, thread[who], lock, site, kind, 1, 1, ns, 0, 0});
  }
  Relief Find(size_t cpus = 2) {
    LockWaits lock_waits;
    EXPECT_TRUE(ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
                  lock_waits.Add(block);
                  return true;
                }).ok());
    return RelieveOf(lock_waits, *ReadWaitTables(*this), meta, lock, cpus);
  }

  ElementId process, lock, site;
  std::vector<ElementId> thread;
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
  const auto findings = FindFindings(program);
  ASSERT_TRUE(findings.ok());
  ASSERT_THAT(*findings, SizeIs(1));
  EXPECT_DOUBLE_EQ(findings->front().figures.at("shorter_at_most"), 0.5);
  EXPECT_DOUBLE_EQ(findings->front().figures.at("shorter_at_most_seconds"), 0.5);
  EXPECT_THAT(findings->front().evidence.at(1), HasSubstr("at most 500 ms (50 %) shorter"));
}

TEST(LockRelief, OfALockThatIsNotThereNothingIsKnown) {
  Program program;
  program.lock = 999;
  EXPECT_EQ(program.Find().life_ns, 0);
}

}  // namespace
}  // namespace attune::analysis
