// The turns of a comparison with passing calls through, and what they say, with a counter and a time of the test's own.

#include "session/components/influence.h"

#include <gmock/gmock.h>

#include <map>

#include "model/info_keys.h"

namespace attune::session {
namespace {

namespace info = model::info;
using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

constexpr int64_t kOneMsNs = 1'000'000;

/// A program that calls futex so often a millisecond, recorded and passed through.
class Turns {
 public:
  Turns(uint64_t recorded, uint64_t passed, const InfluenceCheck::Plan& plan = InfluenceCheck::kOfAll)
      : check(plan, [this]() -> Result<uint64_t> { return calls; }), recorded_(recorded), passed_(passed) {}

  /// To the end of a turn, with its length as planned.
  void Next() {
    const int64_t ns = std::max<int64_t>(0, end_ns - now_ns);
    Pass(ns == 0 ? kOneMsNs : ns);
    passes = check.End(Level::kProfile, now_ns) != Collector::Bypass::kNothing;
    end_ns = check.Begin(now_ns);
  }
  void Pass(int64_t ns) {
    calls += (passes ? passed_ : recorded_) * static_cast<uint64_t>(ns) / kOneMsNs;
    now_ns += ns;
  }
  void Change(uint64_t recorded, uint64_t passed) {
    recorded_ = recorded;
    passed_ = passed;
  }

  uint64_t calls = 0;
  int64_t now_ns = 1000 * kOneMsNs;
  int64_t end_ns = 0;
  bool passes = false;
  InfluenceCheck check;

 private:
  uint64_t recorded_, passed_;
};

TEST(InfluenceCheck, PassesThroughOneTurnOfATenthOfTheTime) {
  Turns turns(10, 10);
  int64_t passed_ns = 0;
  const int64_t begin_ns = turns.now_ns;
  for (int i = 0; i < 4000; ++i) {
    const bool passes = turns.passes;
    const int64_t before_ns = turns.now_ns;
    turns.Next();
    if (passes) passed_ns += turns.now_ns - before_ns;
  }
  EXPECT_EQ(turns.check.Figures().passed_ns, passed_ns);
  EXPECT_THAT(static_cast<double>(passed_ns) / static_cast<double>(turns.now_ns - begin_ns), DoubleNear(0.1, 0.005));
}

TEST(InfluenceCheck, TheFirstTurnIsAPause) {
  Turns turns(10, 10);
  turns.Next();
  EXPECT_FALSE(turns.passes);
  EXPECT_GE(turns.end_ns - turns.now_ns, InfluenceCheck::kOfAll.least_pause_ns);
}

TEST(InfluenceCheck, MutexesPassForAFortiethOfTheTime) {
  Turns turns(1000, 1000, InfluenceCheck::kOfMutexes);
  const int64_t begin_ns = turns.now_ns;
  for (int i = 0; i < 4000; ++i) turns.Next();
  const double share =
      static_cast<double>(turns.check.Figures().passed_ns) / static_cast<double>(turns.now_ns - begin_ns);
  EXPECT_THAT(share, DoubleNear(0.023, 0.001));
}

TEST(InfluenceCheck, ATurnThatALevelForbidsIsNotCompared) {
  Turns turns(10, 10, InfluenceCheck::kOfMutexes);
  while (!turns.passes) turns.Next();
  EXPECT_EQ(turns.check.End(Level::kTrace, turns.now_ns), Collector::Bypass::kNothing);
  EXPECT_EQ(turns.check.Figures().passed_ns, 0);
  EXPECT_EQ(turns.check.Figures().turns, 0);
}

TEST(InfluenceCheck, SaysHowOftenMoreIsCalled) {
  Turns turns(30, 20);
  for (int i = 0; i < 400; ++i) turns.Next();
  const InfluenceFigures figures = turns.check.Figures();
  EXPECT_GE(figures.turns, 99);
  EXPECT_THAT(figures.ratio, DoubleNear(1.5, 0.01));
  EXPECT_LE(figures.low95, figures.ratio);
  EXPECT_GE(figures.high95, figures.ratio);
  EXPECT_THAT(figures.same_to_same, DoubleNear(1, 1e-9));
}

TEST(InfluenceCheck, AProgramThatSlowsDownSteadilyChangesNothing) {
  Turns turns(1'000, 1'000);
  for (uint64_t i = 0; i < 400; ++i) {
    turns.Change(1'000 - 2 * i, 1'000 - 2 * i);
    turns.Next();
  }
  EXPECT_THAT(turns.check.Figures().ratio, DoubleNear(1, 0.001));
  EXPECT_GT(turns.check.Figures().same_to_same, 1) << "what was before is more than what was behind";
}

TEST(InfluenceCheck, TurnsThatLastLongerAreComparedByTheSecond) {
  Turns turns(30, 30);
  for (int i = 0; i < 200; ++i) {
    if (turns.passes) turns.Pass(7 * kOneMsNs);  // whoever keeps the turns came late
    turns.Next();
  }
  EXPECT_THAT(turns.check.Figures().ratio, DoubleNear(1, 0.05));
}

TEST(InfluenceCheck, OfHardlyAnyCallsNothingIsSaid) {
  Turns turns(0, 0);
  for (int i = 0; i < 100; ++i) turns.Next();
  EXPECT_EQ(turns.check.Figures().turns, 0);
  EXPECT_EQ(turns.check.Figures().passed_ns, 0) << "nothing is left out for nothing";
}

TEST(InfluenceCheck, ATurnWithoutACallHasARatioToo) {
  Turns turns(10, 0);
  for (int i = 0; i < 100; ++i) turns.Next();
  EXPECT_GT(turns.check.Figures().turns, 20);
  EXPECT_GT(turns.check.Figures().ratio, 100);
}

TEST(InfluenceRows, TellWhatIsKnown) {
  Turns turns(30, 20);
  for (int i = 0; i < 100; ++i) turns.Next();
  const auto rows = InfluenceRows(turns.calls, 7, &turns.check);
  EXPECT_THAT(rows, Contains(Pair(info::kFutexCalls, std::to_string(turns.calls))));
  EXPECT_THAT(rows, Contains(Pair(info::kMutexFutexCalls, "7")));
  EXPECT_THAT(rows, Contains(Pair("influence.passed", "calls")));
  EXPECT_THAT(rows, Contains(Pair("influence.turns", "24")));
  EXPECT_THAT(rows, Contains(Key("influence.same_to_same")));
  const InfluenceCheck none(InfluenceCheck::kOfMutexes, [] { return Result<uint64_t>(uint64_t{0}); });
  EXPECT_THAT(InfluenceRows(uint64_t{3}, 2, &none),
              AllOf(Not(Contains(Key("influence.ratio"))), Contains(Pair("influence.passed", "mutexes"))));
  EXPECT_THAT(InfluenceRows(uint64_t{3}, 2, nullptr),
              ElementsAre(Pair(info::kFutexCalls, "3"), Pair(info::kMutexFutexCalls, "2"),
                          Pair("influence.not_compared", "--check-influence was not given")));
}

TEST(InfluenceRows, OrWhyNot) {
  const Error why{Errc::kPermission, "not permitted", "run as root"};
  InfluenceCheck check(InfluenceCheck::kOfMutexes, [] { return Result<uint64_t>(uint64_t{0}); });
  EXPECT_THAT(InfluenceRows(why, std::nullopt, &check),
              ElementsAre(Pair(info::kFutexCallsUnknown, "not permitted: run as root"),
                          Pair("influence.not_compared", HasSubstr("none of its mutexes"))));
  check.End(Level::kTrace, 1);
  EXPECT_THAT(InfluenceRows(why, 0, &check),
              Contains(Pair("influence.not_compared", "that is done at levels profile and blame")));
}

}  // namespace
}  // namespace attune::session
