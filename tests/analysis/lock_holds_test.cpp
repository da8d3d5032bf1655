// Releases and their acquisitions, and what of them is shown.

#include "analysis/waits/lock_holds.h"

#include <gmock/gmock.h>

#include "wire/event.h"
#include "wire/sync.h"

namespace attune::analysis::lock_holds_test {
namespace {

using wire::EventKind;
using wire::SyncKind;

std::optional<LockHold> Add(HoldPairing& pairing, EventKind kind, int64_t t_ns, int64_t object = 7, int64_t site = 9,
                            SyncKind lock = SyncKind::kMutex) {
  const int64_t thread = 1, kinds = static_cast<int64_t>(kind), a = 0, b = static_cast<int64_t>(lock);
  return pairing.Add({{&t_ns, 1}, {&thread, 1}, {&kinds, 1}, {&object, 1}, {&site, 1}, {&a, 1}, {&b, 1}}, 0);
}

TEST(HoldPairing, ARecursiveLockIsReleasedFromTheInside) {
  HoldPairing pairing;
  EXPECT_FALSE(Add(pairing, EventKind::kAcquire, 10, 7, 1));
  EXPECT_FALSE(Add(pairing, EventKind::kAcquire, 20, 7, 2));
  EXPECT_FALSE(Add(pairing, EventKind::kRelease, 25, 8)) << "of another lock";
  const auto inner = Add(pairing, EventKind::kRelease, 30);
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->t0_ns, 20);
  EXPECT_EQ(inner->t1_ns, 30);
  EXPECT_EQ(inner->site, 2);
  ASSERT_EQ(pairing.Open().size(), 1u);
  EXPECT_EQ(pairing.Open()[0].t0_ns, 10);
  EXPECT_EQ(Add(pairing, EventKind::kRelease, 40)->held_ns, 30);
  EXPECT_FALSE(Add(pairing, EventKind::kRelease, 50)) << "its acquisition is not recorded";
  EXPECT_TRUE(pairing.Open().empty());
}

TEST(HoldPairing, WhatNobodyHoldsIsNotHeld) {
  HoldPairing pairing;
  Add(pairing, EventKind::kAcquire, 10, 7, 9, SyncKind::kSemaphore);
  Add(pairing, EventKind::kWait, 10);
  Add(pairing, EventKind::kAcquire, 10, 7, 9, static_cast<SyncKind>(200));
  EXPECT_TRUE(pairing.Open().empty());
}

TEST(HoldPairing, ReleasesThatNeverComeAreBounded) {
  HoldPairing pairing;
  for (int64_t i = 0; i < 1000; ++i) Add(pairing, EventKind::kAcquire, i);
  EXPECT_EQ(pairing.Open().size(), HoldPairing::kMaxNested);
  EXPECT_EQ(Add(pairing, EventKind::kRelease, 1000)->t0_ns, 999);
}

TEST(HoldPairing, TimesOfAHostileFileDoNotOverflow) {
  HoldPairing pairing;
  Add(pairing, EventKind::kAcquire, INT64_MIN);
  EXPECT_EQ(Add(pairing, EventKind::kRelease, INT64_MAX)->held_ns, INT64_MAX);
  HoldRows rows(10, 5);
  rows.Add({.t0_ns = INT64_MIN, .t1_ns = INT64_MIN});
  rows.Add({.t0_ns = INT64_MAX, .t1_ns = INT64_MAX});
  EXPECT_EQ(rows.rows().size(), 2u);
}

TEST(LongestHolds, KeepTheLongestOfMany) {
  LongestHolds longest;
  constexpr auto kMany = static_cast<int64_t>(LongestHolds::kMost) * 2;
  for (int64_t i = 0; i < kMany; ++i) longest.Add({.t0_ns = i * 1'000'000, .t1_ns = i * 1'000'000 + i % 100'000});
  EXPECT_LE(longest.holds().size(), LongestHolds::kMost);
  EXPECT_GT(longest.least_ns(), 1000);
  EXPECT_LT(longest.least_ns(), 100'000);
  for (const LockHold& hold : longest.holds()) ASSERT_GT(hold.LengthNs(), longest.least_ns());
}

TEST(HoldRows, TakeShortOnesTogetherAndSayAtWhichPlace) {
  HoldRows rows(100, 10);
  const auto add = [&](int64_t t0_ns, int64_t t1_ns, int64_t site) {
    rows.Add({.t0_ns = t0_ns, .t1_ns = t1_ns, .thread = 1, .object = 7, .site = site, .held_ns = t1_ns - t0_ns});
  };
  add(0, 10, 3);
  add(50, 60, 3);
  ASSERT_EQ(rows.rows().size(), 1u);
  EXPECT_EQ(rows.rows()[0].site, 3);
  add(80, 90, 4);
  EXPECT_EQ(rows.rows()[0].site, 0) << "at several places";
  EXPECT_EQ(rows.rows()[0].holds, 3);
  EXPECT_EQ(rows.rows()[0].held_ns, 30);
  add(150, 400, 3);  // long enough to be seen by itself
  add(410, 420, 3);
  add(600, 610, 3);  // far away
  EXPECT_EQ(rows.rows().size(), 4u);
}

}  // namespace
}  // namespace attune::analysis::lock_holds_test
