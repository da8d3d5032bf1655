// Orders in which threads take locks, from rows that were written down here: which circles are told, and which are
// none.

#include "analysis/waits/lock_order.h"

#include <gmock/gmock.h>

#include "analysis/findings/judgement.h"
#include "analysis/report/summary.h"
#include "program_source.h"

namespace attune::analysis::lock_order_test {
namespace {

using model::ElementId;
using model::ElementKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using wire::EventKind;
using wire::SyncKind;

struct Program : ProgramSource {
  explicit Program(int threads = 3) : ProgramSource("bank", threads) {}
  /// A lock, and the one place where it is acquired.
  LockAtPlace Lock(const std::string& name, SyncKind kind = SyncKind::kMutex) {
    const ElementId lock = Object(name);
    return {lock, SiteOf(lock, kind)};
  }
  ElementId SiteOf(ElementId lock, SyncKind kind) {
    const ElementId site = AddElement(ElementKind::kSite, "bank+0x1", process);
    meta.sites.push_back(
        {.id = site, .line = site, .function = "f" + std::to_string(site), .file = "bank.c", .module = "/bin/bank"});
    sync.push_back({1, thread[0], lock, site, kind, 1, 0, 0, 0, 0});
    return site;
  }
  /// A thread asks for a lock while it has others.
  void Nest(ElementId who, int64_t t_ms, const std::vector<LockAtPlace>& held, const LockAtPlace& wanted) {
    for (const LockAtPlace& each : held)
      events.push_back({t_ms * kMs, who, EventKind::kLockOrder, wanted.lock, each.lock, wanted.site, each.site});
  }
  std::vector<LockCycle> Cycles() {
    orders = {};
    EXPECT_TRUE(ReadEvents({INT64_MIN, INT64_MAX}, [&](const model::EventBlock& block) {
                  orders.AddEvents(block);
                  return true;
                }).ok());
    orders.Settle(INT64_MAX);
    return orders.Cycles(*ReadSyncSums(*this));
  }
  std::vector<Finding> Findings() { return JudgeProgram(*this)->findings; }

  LockOrders orders;
};

TEST(LockOrder, OfTwoThreadsThatContradictEachOtherTheLaterOneIsNamed) {
  Program program;
  const LockAtPlace a = program.Lock("mutex 0xa");
  const LockAtPlace b = program.Lock("mutex 0xb");
  program.Nest(program.thread[1], 10, {a}, b);
  program.Nest(program.thread[2], 20, {b}, a);
  program.Nest(program.thread[1], 30, {a}, b);
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLockOrderCycle);
  EXPECT_EQ(findings[0].lost_ns, 0);
  EXPECT_EQ(findings[0].site.line, a.site);
  EXPECT_EQ(findings[0].object_name, "mutex 0xa");
  EXPECT_EQ(findings[0].confidence, Confidence::kMedium);
  EXPECT_EQ(findings[0].thread_count, 2);
  ASSERT_THAT(findings[0].places, SizeIs(4));
  EXPECT_THAT(findings[0].evidence, SizeIs(2));
  EXPECT_EQ(findings[0].figures.at("locks"), 2);
  const auto summary = Summarise(program);
  ASSERT_TRUE(summary.ok());
  EXPECT_THAT(ToJson(*summary), HasSubstr("\"what\": \"mutex 0xa is asked for with mutex 0xb\""));
}

TEST(LockOrder, StandsBehindWhatLostTime) {
  Program program;
  const LockAtPlace a = program.Lock("mutex 0xa");
  const LockAtPlace b = program.Lock("mutex 0xb");
  program.Nest(program.thread[1], 10, {a}, b);
  program.Nest(program.thread[2], 20, {b}, a);
  program.sync.push_back({5, program.thread[1], a.lock, a.site, SyncKind::kMutex, 9, 9, 190 * kMs, 0, 0});
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].kind, FindingClass::kLockContention);
  EXPECT_EQ(findings[1].kind, FindingClass::kLockOrderCycle);
}

TEST(LockOrder, ThreadsThatWereNotThereTogetherMakeItDoubtful) {
  Program program;
  const LockAtPlace a = program.Lock("mutex 0xa");
  const LockAtPlace b = program.Lock("mutex 0xb");
  program.Nest(program.thread[1], 10, {a}, b);
  program.Nest(program.thread[2], 600, {b}, a);
  for (model::Element& element : program.meta.elements) {
    if (element.id == program.thread[1]) element.end_ns = 400 * kMs;
    if (element.id == program.thread[2]) element.start_ns = 500 * kMs;
  }
  const auto findings = program.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].confidence, Confidence::kLow);
}

TEST(LockOrder, NeedsAnotherThreadForEachStep) {
  Program program;
  const LockAtPlace a = program.Lock("mutex 0xa");
  const LockAtPlace b = program.Lock("mutex 0xb");
  const LockAtPlace c = program.Lock("mutex 0xc");
  program.Nest(program.thread[1], 10, {a}, b);
  program.Nest(program.thread[1], 20, {b}, a);
  EXPECT_THAT(program.Cycles(), IsEmpty());
  program.Nest(program.thread[2], 30, {a}, b);
  EXPECT_THAT(program.Cycles(), SizeIs(1)) << "now the first thread can meet the second one";

  Program three;
  three.Nest(three.thread[1], 10, {a}, b);
  three.Nest(three.thread[2], 20, {b}, c);
  three.Nest(three.thread[2], 30, {c}, a);
  EXPECT_THAT(three.Cycles(), IsEmpty());
  three.Nest(three.thread[0], 40, {c}, a);
  const auto cycles = three.Cycles();
  ASSERT_THAT(cycles, SizeIs(1));
  EXPECT_EQ(cycles[0].entangled, 3);
  EXPECT_EQ(cycles[0].steps.size(), 3u);
}

TEST(LockOrder, OfSeveralCirclesAShortestIsTold) {
  Program program(4);
  const LockAtPlace a = program.Lock("a");
  const LockAtPlace b = program.Lock("b");
  const LockAtPlace c = program.Lock("c");
  program.Nest(program.thread[1], 10, {a}, b);
  program.Nest(program.thread[2], 20, {b}, c);
  program.Nest(program.thread[3], 30, {c}, a);
  program.Nest(program.thread[1], 40, {c}, b);
  const auto cycles = program.Cycles();
  ASSERT_THAT(cycles, SizeIs(1));
  EXPECT_EQ(cycles[0].steps.size(), 2u);
  EXPECT_EQ(cycles[0].entangled, 3);
}

TEST(LockOrder, ALockThatBothHaveKeepsThemApart) {
  Program program;
  const LockAtPlace a = program.Lock("a");
  const LockAtPlace b = program.Lock("b");
  const LockAtPlace gate = program.Lock("gate");
  program.Nest(program.thread[1], 10, {gate, a}, b);
  program.Nest(program.thread[1], 9, {gate}, a);
  program.Nest(program.thread[2], 20, {gate, b}, a);
  program.Nest(program.thread[2], 19, {gate}, b);
  EXPECT_THAT(program.Cycles(), IsEmpty());
  program.Nest(program.thread[0], 30, {b}, a);
  EXPECT_THAT(program.Cycles(), SizeIs(1)) << "one gets there by another way";
}

TEST(LockOrder, ReadersDoNotWaitForEachOther) {
  Program program;
  const LockAtPlace a = program.Lock("rwlock a", SyncKind::kReadLock);
  const LockAtPlace b = program.Lock("rwlock b", SyncKind::kReadLock);
  program.Nest(program.thread[1], 10, {a}, b);
  program.Nest(program.thread[2], 20, {b}, a);
  EXPECT_THAT(program.Cycles(), IsEmpty());
  const LockAtPlace writes_a{a.lock, program.SiteOf(a.lock, SyncKind::kWriteLock)};
  program.Nest(program.thread[2], 30, {b}, writes_a);
  EXPECT_THAT(program.Cycles(), IsEmpty()) << "b is read by both";
  const LockAtPlace writes_b{b.lock, program.SiteOf(b.lock, SyncKind::kWriteLock)};
  program.Nest(program.thread[1], 40, {a}, writes_b);
  EXPECT_THAT(program.Cycles(), SizeIs(1));
}

TEST(LockOrder, AGateThatIsOnlyReadIsNone) {
  Program program;
  const LockAtPlace a = program.Lock("a");
  const LockAtPlace b = program.Lock("b");
  const LockAtPlace gate = program.Lock("gate", SyncKind::kReadLock);
  program.Nest(program.thread[1], 10, {gate, a}, b);
  program.Nest(program.thread[2], 20, {gate, b}, a);
  EXPECT_THAT(program.Cycles(), SizeIs(1));
}

TEST(LockOrder, ManyLocksInEveryOrderEndInTime) {
  Program program(40);
  std::vector<LockAtPlace> locks;
  for (int i = 0; i < 200; ++i) locks.push_back(program.Lock("account " + std::to_string(i)));
  const LockAtPlace gate = program.Lock("gate");
  for (size_t i = 0; i < locks.size(); ++i) {
    for (size_t k = 1; k < 40; ++k)
      program.Nest(program.thread[k], static_cast<int64_t>(i * 40 + k), {gate, locks[i]}, locks[(i * k + k) % 200]);
  }
  EXPECT_THAT(program.Cycles(), IsEmpty()) << "the gate";
}

TEST(LockOrder, RowsThatLieAreSurvived) {
  Program program;
  const LockAtPlace a = program.Lock("a");
  for (const int64_t value : {INT64_MIN, int64_t{-1}, int64_t{0}, INT64_MAX, int64_t{a.lock}}) {
    program.events.push_back({value, value, EventKind::kLockOrder, value, a.lock, value, value});
    program.events.push_back({value, program.thread[1], EventKind::kLockOrder, a.lock, value, value, value});
  }
  EXPECT_TRUE(JudgeProgram(program).ok());
}

}  // namespace
}  // namespace attune::analysis::lock_order_test
