// When threads waited, read and from the index: the same answer both ways.

#include "analysis/timeline/thread_timeline.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>

#include "fake_source.h"
#include "wire/sync.h"

namespace attune::analysis::thread_timeline_test {
namespace {

using model::ElementId;
using wire::EventKind;
using wire::SyncKind;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = 1'000 * kMs;
constexpr auto kMutex = static_cast<int64_t>(SyncKind::kMutex);
constexpr auto kBarrier = static_cast<int64_t>(SyncKind::kBarrier);

struct Program : FakeSource {
  Program() { extent = {0, 10 * kSecond}; }
  void Wait(int64_t thread, int64_t t0_ns, int64_t t1_ns, int64_t kind = kMutex, int64_t object = 7) {
    events.push_back({t1_ns, thread, EventKind::kWait, object, t1_ns - t0_ns, 9, kind});
  }
  /// Time waited by (thread, kind), of all buckets.
  static std::map<std::pair<int64_t, int64_t>, int64_t> Sums(const TimelineView& view) {
    std::map<std::pair<int64_t, int64_t>, int64_t> sums;
    const auto& ints = view.states.ints;
    for (size_t row = 0; row < view.states.rows; ++row) sums[{ints[1][row], ints[2][row]}] += ints[3][row];
    return sums;
  }
};

TimelineView View(ThreadTimeline& timeline, model::TimeRange range, uint32_t buckets,
                  const std::vector<ElementId>& threads) {
  auto view = timeline.View(range, buckets, threads);
  EXPECT_TRUE(view.ok());
  return view.value_or({});
}

TEST(ThreadTimeline, FewWaitsAreGivenOneByOne) {
  Program program;
  program.Wait(1, 100 * kMs, 300 * kMs);
  program.Wait(2, 0, 5 * kSecond, kBarrier);  // ends long after the range
  program.Wait(1, 4 * kSecond, 4 * kSecond + 1);
  program.Wait(3, 200 * kMs, 300 * kMs);  // not asked for
  program.events.push_back({300 * kMs, 3, EventKind::kHandOver, 7, 0, 8, kMutex});
  program.events.push_back({3 * kSecond, 3, EventKind::kHandOver, 7, 0, 8, kMutex});
  ThreadTimeline timeline(program);
  const TimelineView view = View(timeline, {200 * kMs, kSecond}, 100, {1, 2});
  ASSERT_TRUE(view.is_single);
  EXPECT_EQ(view.width_ns, 8 * kMs);
  ASSERT_EQ(view.events.rows, 3u);
  EXPECT_THAT(view.events.ints[0], testing::ElementsAre(300 * kMs, 5 * kSecond, 300 * kMs)) << "their ends";
  EXPECT_THAT(view.events.ints[1], testing::ElementsAre(1, 2, 3)) << "threads";
  EXPECT_THAT(view.events.ints[2], testing::ElementsAre(11, 11, 14)) << "kinds of events";
  EXPECT_THAT(view.events.ints[3], testing::Each(7)) << "objects";
  EXPECT_THAT(view.events.ints[4], testing::ElementsAre(9, 9, 8)) << "sites";
  EXPECT_THAT(view.events.ints[5], testing::ElementsAre(200 * kMs, 5 * kSecond, 0)) << "lengths";
  EXPECT_THAT(view.events.ints[6], testing::ElementsAre(kMutex, kBarrier, kMutex));
}

TEST(ThreadTimeline, ManyWaitsAreSumsByBucket) {
  Program program;
  // Of each millisecond thread 1 waits the first quarter for a mutex and the second one for a barrier.
  for (int64_t i = 0; i < 10'000; ++i) {
    program.Wait(1, i * kMs, i * kMs + kMs / 4);
    program.Wait(1, i * kMs + kMs / 4, i * kMs + kMs / 2, kBarrier);
  }
  ThreadTimeline timeline(program);
  const TimelineView view = View(timeline, {2 * kSecond, 8 * kSecond}, 100, {1, 2});
  ASSERT_FALSE(view.is_single);
  EXPECT_EQ(view.width_ns, 60 * kMs);
  EXPECT_EQ(view.states.rows, 200u);
  EXPECT_EQ(view.states.ints[0].front(), 2 * kSecond);
  for (const int64_t wait_ns : view.states.ints[3]) EXPECT_NEAR(static_cast<double>(wait_ns), 15e6, 6e4);
}

/// 400 000 waits: more than are read each time.
void AddMany(Program& program) {
  for (int64_t i = 0; i < 400'000; ++i) {
    const int64_t t0_ns = i * 25'000;
    program.Wait(1 + i % 2, t0_ns, t0_ns + 10'000);
  }
}

TEST(ThreadTimeline, TheIndexSaysWhatReadingDoes) {
  Program program;
  AddMany(program);
  ThreadTimeline timeline(program);
  const auto whole = Program::Sums(View(timeline, program.extent, 1000, {1, 2}));
  ASSERT_EQ(whole.size(), 2u);
  for (const auto& [key, wait_ns] : whole) EXPECT_NEAR(static_cast<double>(wait_ns), 2e9, 2e6);
  // 250 000 events: these are read.
  const auto part = Program::Sums(View(timeline, {0, 6'250 * kMs}, 1000, {1, 2}));
  for (const auto& [key, wait_ns] : part) EXPECT_NEAR(static_cast<double>(wait_ns), 1.25e9, 2e6);
  const TimelineView close = View(timeline, {kSecond, kSecond + 10 * kMs}, 1000, {1});
  EXPECT_TRUE(close.is_single);
  EXPECT_EQ(close.events.rows, 200u);
}

TEST(ThreadTimeline, WhatComesWhileItGrowsIsThere) {
  Program program;
  AddMany(program);
  const auto all = program.events;
  program.growing = true;
  program.events.clear();
  ThreadTimeline timeline(program);
  size_t taken = 0;
  for (int64_t now_ns = kSecond; now_ns <= 10 * kSecond; now_ns += kSecond) {
    while (taken < all.size() && all[taken].t_ns < now_ns) program.events.push_back(all[taken++]);
    program.extent.t1_ns = now_ns;
    const auto sums = Program::Sums(View(timeline, {0, now_ns}, 500, {1, 2}));
    ASSERT_EQ(sums.size(), 2u) << now_ns;
    for (const auto& [key, wait_ns] : sums)
      EXPECT_NEAR(static_cast<double>(wait_ns), 0.2 * static_cast<double>(now_ns), 2e-3 * static_cast<double>(now_ns));
  }
  program.growing = false;
  const auto sums = Program::Sums(View(timeline, {0, 10 * kSecond}, 500, {1, 2}));
  for (const auto& [key, wait_ns] : sums) EXPECT_NEAR(static_cast<double>(wait_ns), 2e9, 4e6);
}

TEST(ThreadTimeline, AWaitOverEverythingIsSeenWhereItIsLookedAt) {
  Program program;
  AddMany(program);
  program.Wait(5, kMs, 10 * kSecond - 1, kBarrier);
  ThreadTimeline timeline(program);
  View(timeline, program.extent, 10, {5});
  const TimelineView view = View(timeline, {5 * kSecond, 5 * kSecond + kMs}, 100, {5});
  ASSERT_TRUE(view.is_single);
  ASSERT_EQ(view.events.rows, 1u);
  EXPECT_EQ(view.events.ints[5][0], 10 * kSecond - 1 - kMs);
}

TEST(ThreadTimeline, TimesThatCannotBeDoNoHarm) {
  Program program;
  program.extent = {INT64_MIN + 1, INT64_MAX};
  program.Wait(1, INT64_MIN + 5, INT64_MIN + 10);
  program.events.push_back({-5, 1, EventKind::kWait, 7, INT64_MAX, 9, kMutex});
  program.events.push_back({5, 1, EventKind::kWait, 7, INT64_MIN, 9, 1000});
  program.events.push_back({INT64_MAX - 1, -3, EventKind::kWait, 7, 5, 9, kMutex});
  program.events.push_back({INT64_MAX - 1, 1, EventKind::kWait, 7, INT64_MAX - 2, 9, kMutex});
  ThreadTimeline timeline(program);
  const TimelineView view = View(timeline, {-1000, 1000}, 4000, {1});
  EXPECT_GT(view.width_ns, 0);
  EXPECT_TRUE(timeline.View({0, INT64_MAX}, 1, {}).ok());
}

TEST(WaitGrid, PartsDoubleInsteadOfGrowingInNumber) {
  WaitGrid grid(100, 10, 8, 1000);
  grid.Add({1, 1}, 100, 105);
  grid.Add({1, 1}, 130, 150);
  EXPECT_EQ(grid.width_ns(), 10);
  grid.Add({1, 1}, 90, 340);  // from before the origin; three doublings are not enough
  EXPECT_EQ(grid.width_ns(), 40);
  EXPECT_EQ(grid.doublings(), 2);
  const auto& lane = grid.lanes().at({1, 1});
  EXPECT_THAT(lane.shares, testing::Each(1.0F)) << "a share is never more than all";
  EXPECT_LE(lane.shares.size(), 8u);
}

TEST(WaitGrid, PartsDoubleWhereThereAreTooManyCells) {
  WaitGrid grid(0, 10, 1000, 100);
  for (ElementId thread = 1; thread <= 10; ++thread) grid.Add({thread, 1}, 0, 1000);
  size_t cells = 0;
  double waited_ns = 0;
  for (const auto& [key, lane] : grid.lanes()) {
    cells += lane.shares.size();
    for (const float share : lane.shares)
      waited_ns += static_cast<double>(share) * static_cast<double>(grid.width_ns());
  }
  EXPECT_LE(cells, 100u);
  EXPECT_NEAR(waited_ns, 10'000, 1);
}

struct Traced : Program {
  void Acquire(int64_t thread, int64_t t_ns, int64_t object = 7, int64_t site = 9) {
    events.push_back({t_ns, thread, EventKind::kAcquire, object, 0, site, kMutex});
  }
  void Release(int64_t thread, int64_t t_ns, int64_t object = 7) {
    events.push_back({t_ns, thread, EventKind::kRelease, object, 0, 9, kMutex});
  }
  void Hold(int64_t thread, int64_t t0_ns, int64_t t1_ns, int64_t object = 7) {
    Acquire(thread, t0_ns, object);
    Release(thread, t1_ns, object);
  }
  /// "thread object t0+length holds held", " open".
  static std::vector<std::string> Holds(const TimelineView& view) {
    std::vector<std::string> texts;
    const auto& ints = view.holds.ints;
    for (size_t row = 0; row < view.holds.rows; ++row) {
      std::string text = std::to_string(ints[1][row]) + " " + std::to_string(ints[2][row]) + " " +
                         std::to_string(ints[0][row]) + "+" + std::to_string(ints[5][row]) + " " +
                         std::to_string(ints[6][row]) + " " + std::to_string(ints[7][row]);
      texts.push_back(text + (ints[8][row] != 0 ? " open" : ""));
    }
    return texts;
  }
};

TEST(ThreadTimeline, HoldsOfATraceComeWithSingleWaits) {
  Traced program;
  program.Acquire(1, 0, 8);  // around all others
  program.Hold(1, 1'000, 5'000);
  program.Hold(2, 2'000, 3'000);  // not asked for
  program.Hold(1, 10'000, 12'000);
  program.Release(1, 4 * kSecond, 8);
  program.Acquire(1, 5 * kSecond, 6);  // for good
  ThreadTimeline timeline(program);
  const TimelineView view = View(timeline, {0, 20'000}, 1000, {1});
  ASSERT_TRUE(view.is_single);
  EXPECT_THAT(Traced::Holds(view), testing::UnorderedElementsAre("1 8 0+4000000000 1 4000000000",
                                                                 "1 7 1000+4000 1 4000", "1 7 10000+2000 1 2000"));
  EXPECT_THAT(view.holds.ints[3], testing::Each(9)) << "sites";
  EXPECT_THAT(view.holds.ints[4], testing::Each(kMutex)) << "kinds";
  EXPECT_FALSE(view.holds_left_out);
  EXPECT_THAT(Traced::Holds(View(timeline, {kSecond, kSecond + 1000}, 1000, {1, 2})),
              testing::ElementsAre("1 8 0+4000000000 1 4000000000"))
      << "neither its begin nor its end is near";
  EXPECT_THAT(Traced::Holds(View(timeline, {3'500, 11'000}, 1000, {1})),
              testing::IsSupersetOf({"1 7 1000+4000 1 4000", "1 7 10000+2000 1 2000"}))
      << "cut by both edges";
  EXPECT_THAT(Traced::Holds(View(timeline, {9 * kSecond, 10 * kSecond}, 1000, {1})),
              testing::ElementsAre("1 6 5000000000+5000000000 1 5000000000 open"));
}

TEST(ThreadTimeline, HoldsThatAFlightRecorderToldLateAreCutByNoEdge) {
  Traced program;
  program.growing = true;
  program.Hold(1, 9 * kSecond, 9 * kSecond + 10, 8);
  ThreadTimeline timeline(program);
  View(timeline, program.extent, 100, {1});  // settled up to 8 s
  program.Hold(1, kSecond, kSecond + 5 * kMs);
  program.extent.t1_ns = 12 * kSecond;
  EXPECT_THAT(Traced::Holds(View(timeline, {kSecond + 3 * kMs, kSecond + 4 * kMs}, 100, {1})),
              testing::ElementsAre("1 7 1000000000+5000000 1 5000000"));
}

TEST(ThreadTimeline, HoldsOfLessThanAPartOfTheTimeAreTakenTogether) {
  Traced program;
  for (int64_t i = 0; i < 100; ++i) program.Hold(1, i * 100, i * 100 + 50);
  program.Hold(1, 40'000, 40'050);
  ThreadTimeline timeline(program);
  EXPECT_THAT(Traced::Holds(View(timeline, {0, 100'000}, 100, {1})),
              testing::ElementsAre("1 7 0+9950 100 5000", "1 7 40000+50 1 50"));
  EXPECT_EQ(View(timeline, {0, 100'000}, 4000, {1}).holds.rows, 101u) << "each is wider than a part";
}

TEST(ThreadTimeline, TooManyHoldsAreSaidAndLeftOut) {
  Traced program;
  for (int64_t i = 0; i < static_cast<int64_t>(ThreadTimeline::kMaxHolds) + 1; ++i)
    program.Hold(1, i * 100, i * 100 + 50, 100 + i);
  ThreadTimeline timeline(program);
  const TimelineView view = View(timeline, {0, kSecond}, 100, {1});
  EXPECT_TRUE(view.is_single);
  EXPECT_TRUE(view.holds_left_out);
  EXPECT_EQ(view.holds.rows, 0u);
  EXPECT_EQ(View(timeline, {0, 5'000}, 100, {1}).holds.rows, 50u);
}

TEST(ThreadTimeline, HoldsGoOnWhileItGrows) {
  Traced program;
  program.growing = true;
  program.extent.t1_ns = 4 * kSecond;
  program.Hold(1, kSecond, kSecond + 100);
  program.Acquire(1, kSecond + 500);  // released when the index knows of its begin alone
  ThreadTimeline timeline(program);
  EXPECT_THAT(Traced::Holds(View(timeline, {0, 4 * kSecond}, 4000, {1})),
              testing::Contains("1 7 1000000500+2999999500 1 2999999500 open"));
  program.Release(1, 3 * kSecond);
  EXPECT_THAT(Traced::Holds(View(timeline, {2 * kSecond, 4 * kSecond}, 4000, {1})),
              testing::ElementsAre("1 7 1000000500+1999999500 1 1999999500"));
  program.growing = false;
  EXPECT_THAT(Traced::Holds(View(timeline, {2 * kSecond, 4 * kSecond}, 4000, {1})),
              testing::ElementsAre("1 7 1000000500+1999999500 1 1999999500"));
}

}  // namespace
}  // namespace attune::analysis::thread_timeline_test
