// Who is blamed for waits, from events that were written down here.

#include "analysis/waits/blame.h"

#include <gmock/gmock.h>

#include "fake_source.h"

namespace attune::analysis {

void PrintTo(const Blame& blame, std::ostream* out) {
  *out << "site " << blame.site << " thread " << blame.thread << " for " << blame.waiter << ": " << blame.waits
       << " waits, " << blame.wait_ns;
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using wire::EventKind;
using wire::SyncKind;

constexpr int64_t kLock = 50;

struct Waits : FakeSource {
  Waits() { extent = {0, 1'000'000'000'000}; }
  void Released(int64_t t_ns, int64_t thread, int64_t site, SyncKind kind = SyncKind::kMutex) {
    events.push_back({t_ns, thread, EventKind::kHandOver, kLock, 0, site, static_cast<int64_t>(kind)});
  }
  void Waited(int64_t t0_ns, int64_t t1_ns, int64_t thread, SyncKind kind = SyncKind::kMutex) {
    events.push_back({t1_ns, thread, EventKind::kWait, kLock, t1_ns - t0_ns, 99, static_cast<int64_t>(kind)});
  }
  std::vector<Blame> Blames() {
    auto blames = BlameHolders(*this);
    EXPECT_TRUE(blames.ok());
    return (*blames)[kLock];
  }
};

TEST(Blame, IsOfWhoReleasedItAtLast) {
  Waits waits;
  waits.Released(90, 1, 10);
  waits.Waited(20, 100, 2);
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 1, 2, 1, 80}));
}

TEST(Blame, IsDividedByTheReleasesMeanwhile) {
  Waits waits;
  // In another order than that of time, as threads' rings are read.
  waits.Waited(0, 100, 2);
  waits.Waited(60, 1000, 4);
  waits.Released(30, 1, 10);
  waits.Released(90, 3, 11);
  waits.Released(990, 2, 10);
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 2, 4, 1, 910}, Blame{11, 3, 2, 1, 70}, Blame{10, 1, 2, 1, 30},
                                          Blame{11, 3, 4, 1, 30}));
}

TEST(Blame, OfReleasesOfTheMomentIsTheOthers) {
  Waits waits;
  waits.Released(100, 2, 12);  // the waiter's own
  waits.Released(100, 1, 10);
  waits.Waited(40, 100, 2);
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 1, 2, 1, 60}));
}

TEST(Blame, OfAConditionIsOfWhoeverWokeItUp) {
  Waits waits;
  waits.Released(30, 1, 10, SyncKind::kWake);
  waits.Released(70, 3, 11, SyncKind::kWake);
  waits.Waited(0, 80, 2, SyncKind::kCondition);
  waits.Waited(60, 120, 4, SyncKind::kSemaphore);
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{11, 3, 2, 1, 80}, Blame{11, 3, 4, 1, 60}));
}

TEST(Blame, AHandOverStandsForThoseThatFollowItQuickly) {
  Waits waits;
  waits.Released(10'000, 1, 10);
  waits.Released(10'010, 2, 11);  // the waiter's own
  waits.Waited(14'990, 18'000, 2);
  waits.Waited(15'020, 18'000, 2);  // another one
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 1, 2, 1, 3'010}));
}

TEST(Blame, NobodyIsBlamedForWhatWasNotSeen) {
  Waits waits;
  waits.Released(10, 1, 10);
  waits.Waited(20'000, 20'100, 2);
  waits.Waited(20, 100, 2, SyncKind::kBarrier);
  waits.Waited(20, 100, 2, SyncKind::kCondition);
  EXPECT_THAT(waits.Blames(), IsEmpty());
}

TEST(Blame, SpansThePartsInWhichEventsAreRead) {
  Waits waits;
  waits.Released(400'000'000'000, 1, 10);
  waits.Waited(5, 900'000'000'000, 2);
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 1, 2, 1, 899'999'999'995}));
}

TEST(Blame, SurvivesRowsThatLie) {
  Waits waits;
  waits.Released(10, 1, 10);
  waits.events.push_back({20, 2, EventKind::kWait, kLock, INT64_MIN, 0, 1});
  waits.events.push_back({20, 2, EventKind::kWait, kLock, INT64_MAX, 0, 1});
  waits.events.push_back({20, 2, EventKind::kWait, kLock, INT64_MAX, 0, 1});
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 1, 2, 2, INT64_MAX}));
  waits.extent = {INT64_MIN, INT64_MAX};
  EXPECT_THAT(waits.Blames(), ElementsAre(Blame{10, 1, 2, 2, INT64_MAX}));
}

}  // namespace
}  // namespace attune::analysis
