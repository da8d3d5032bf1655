// Programs that lock and wait, with the probe preloaded: they behave as without it, and what they did is counted
// exactly.

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "symbols/symbolizer.h"
#include "sync_run.h"

namespace attune::sync_test {
namespace {

using wire::EventKind;
using wire::SyncKind;

std::vector<std::string> Scenario(const std::string& name, const std::vector<long>& numbers = {},
                                  const std::string& program = "sync_scenarios") {
  std::vector<std::string> command = {std::string(ATTUNE_PROBE_PROGRAMS) + "/" + program, name};
  for (const long number : numbers) command.push_back(std::to_string(number));
  return command;
}

uint64_t LostSync(Collected* collected) {
  uint64_t lost = 0;
  for (const auto& [name, reader] : collected->Readers()) lost += reader.Counters().lost_sync;
  return lost;
}

/// Dynamic programs, and static ones that are linked with the archive.
const char* const kPrograms[] = {"sync_scenarios", "sync_scenarios_static", "sync_scenarios_static_pie"};

class Behaviour : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Behaviour, IsThatOfTheProgramAlone) {
  const auto [program, name] = GetParam();
  Program alone(Scenario(name, {4, 1000}), {});
  ASSERT_TRUE(ExitedWell(alone.Wait()));
  const auto command = Scenario(name, {4, 1000}, program);
  for (const char* level : {"off", "profile", "blame", "trace", "stamped"}) {
    const SyncFolder folder;
    Program observed(command, folder.Preloaded(level));
    EXPECT_TRUE(ExitedWell(observed.Wait())) << level;
    EXPECT_EQ(observed.Output(), alone.Output()) << level;
  }
  EXPECT_FALSE(alone.Output().empty());
  // There where nobody listens: nothing is made.
  Program unobserved(command, {{"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}});
  EXPECT_TRUE(ExitedWell(unobserved.Wait()));
  EXPECT_EQ(unobserved.Output(), alone.Output());
}

INSTANTIATE_TEST_SUITE_P(
    Sync, Behaviour,
    testing::Combine(testing::ValuesIn(kPrograms),
                     testing::Values("counts", "kinds", "types", "cancel", "signals", "forks", "c11", "cancel_c11",
                                     "hands_over", "keeps", "nested", "system_calls", "early", "inside", "once",
                                     "idles", "files", "streams")),
    [](const auto& test) { return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param); });

TEST(Sync, AnotherLibraryOfTheUsersIsCalledAsEver) {
  const std::string own = std::string(ATTUNE_PROBE_PROGRAMS) + "/counting_locks.so";
  Program alone(Scenario("another_library"), {{"LD_PRELOAD", own}});
  ASSERT_TRUE(ExitedWell(alone.Wait()));
  ASSERT_NE(alone.Output(), "-1\n") << "it is not there";
  for (const char* level : {"off", "profile", "blame", "trace"}) {
    const SyncFolder folder;
    Program observed(Scenario("another_library"), {{ATTUNE_RING_FOLDER_VARIABLE, folder.Path()},
                                                   {"LD_PRELOAD", ATTUNE_PROBE_LIBRARY ":" + own},
                                                   {ATTUNE_LEVEL_VARIABLE, level}});
    EXPECT_TRUE(ExitedWell(observed.Wait()));
    EXPECT_EQ(observed.Output(), alone.Output()) << level;
  }
}

TEST(Sync, EveryAcquisitionIsCountedOnce) {
  const SyncFolder folder;
  Program program(Scenario("counts", {3, 20'000}), folder.Preloaded());
  Collected collected(folder);
  std::map<SyncKind, Sum> sums;
  const auto add = [&] {
    for (const auto& [kind, sum] : Sums(&collected)) {
      sums[kind].count += sum.count;
      sums[kind].contended += sum.contended;
      sums[kind].wait += sum.wait;
      sums[kind].holds += sum.holds;
    }
  };
  while (!program.Ended()) {  // snapshots at any moment
    collected.Drain(false, UINT64_MAX);
    for (auto& [name, reader] : collected.Readers()) EXPECT_TRUE(reader.ReadSyncTables().ok());
    add();
  }
  ASSERT_TRUE(ExitedWell(program.Wait()));
  EXPECT_EQ(program.Output(), "60000\n");
  collected.Finish();
  add();
  EXPECT_EQ(LostSync(&collected), 0u);
  EXPECT_EQ(sums[SyncKind::kMutex].count, 60'000u);
  EXPECT_EQ(sums[SyncKind::kJoin].count, 3u);
  EXPECT_GT(sums[SyncKind::kMutex].holds, 0u);
  EXPECT_LE(sums[SyncKind::kMutex].holds, 60'000u / 16);
}

/// Also those that were taken while mutexes passed.
TEST(Sync, MutexesThatPassAreCountedToo) {
  for (const char* level : {"profile", "blame"}) {
    const SyncFolder folder;
    Program program(Scenario("counts", {3, 400'000}), folder.Preloaded(level));
    Collected collected(folder);
    bool passes = false;
    uint64_t futex_calls = 0;
    const uint32_t number = level == std::string_view("blame") ? wire::kRingLevelBlame : wire::kRingLevelProfile;
    while (!program.Ended()) {
      collected.Drain(false, UINT64_MAX);
      passes = !passes;
      for (auto& [name, reader] : collected.Readers()) EXPECT_TRUE(reader.SetLevel(number, passes).ok());
    }
    ASSERT_TRUE(ExitedWell(program.Wait()));
    EXPECT_EQ(program.Output(), "1200000\n");
    collected.Finish();
    for (const auto& [name, reader] : collected.Readers()) futex_calls += reader.Counters().mutex_futex_calls;
    const auto sums = Sums(&collected);
    const Sum& mutex = sums.at(SyncKind::kMutex);
    EXPECT_EQ(mutex.count, 1'200'000u) << level;
    EXPECT_EQ(LostSync(&collected), 0u);
    EXPECT_GE(futex_calls, mutex.contended) << "each wait is at least one";
  }
}

TEST(Sync, NoneIsTimedWhereTheyPass) {
  const std::pair<const char*, uint32_t> levels[] = {{"profile", wire::kRingLevelProfile},
                                                     {"blame", wire::kRingLevelBlame}};
  for (const auto& [level, number] : levels) {
    const SyncFolder folder;
    Program program(Scenario("steps", {10'000}), folder.Preloaded(level));
    Collected collected(folder);
    for (const bool passes : {false, true, true, true, false}) {
      for (auto& [name, reader] : collected.Readers()) EXPECT_TRUE(reader.SetLevel(number, passes).ok());
      program.Do('l');
      collected.Drain();
    }
    EXPECT_TRUE(ExitedWell(program.Wait()));
    collected.Finish();
    const Sum mutex = Sums(&collected)[SyncKind::kMutex];
    EXPECT_EQ(mutex.count, 50'000u) << level;
    EXPECT_GT(mutex.holds, 0u) << level;
    EXPECT_LE(mutex.holds, 20'000u) << level << ": those where they do not pass";
  }
}

/// The first thread is gone without having said anything when the program ends.
TEST(Sync, WhatPassesUntilTheEndIsCounted) {
  const SyncFolder folder;
  Program program(Scenario("steps", {10'000}), folder.Preloaded("profile"));
  Collected collected(folder);
  for (const bool passes : {false, true}) {
    for (auto& [name, reader] : collected.Readers()) EXPECT_TRUE(reader.SetLevel(wire::kRingLevelProfile, passes).ok());
    program.Do('l');
    collected.Drain();
  }
  EXPECT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  EXPECT_EQ(Sums(&collected)[SyncKind::kMutex].count + LostSync(&collected), 20'000u);
}

/// However many come at once, before the session looks.
TEST(Sync, EachThreadFindsASlot) {
  const SyncFolder folder;
  Program program(Scenario("counts", {24, 100}), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(Sums(&collected)[SyncKind::kMutex].count, 2400u);
  EXPECT_EQ(collected.Refused(), 0u);
}

/// Waits for mutexes that were told as events, also of threads that live on.
std::vector<track::RingRecord> OpenWaits(Collected* collected) {
  std::vector<track::RingRecord> waits;
  const auto keep = [&](const track::RingRecord& record) {
    if (record.kind == EventKind::kWait && record.b == static_cast<uint64_t>(SyncKind::kMutex)) waits.push_back(record);
  };
  for (const auto& event : collected->Events()) keep(event.record);
  for (auto& [name, reader] : collected->Readers()) {
    reader.EndOpenWaits([&](std::span<const track::RingRecord> records) { std::ranges::for_each(records, keep); });
  }
  return waits;
}

TEST(Sync, WaitsThatDidNotEndAreTold) {
  for (const char* level : {"profile", "blame", "trace"}) {
    const SyncFolder folder;
    Program program(Scenario("leaves"), folder.Preloaded(level));
    ASSERT_TRUE(ExitedWell(program.Wait()));
    Collected collected(folder);
    collected.Finish();
    const auto ended = OpenWaits(&collected);
    ASSERT_EQ(ended.size(), 1u) << level;
    EXPECT_EQ(ended[0].b, static_cast<uint64_t>(SyncKind::kMutex));
    EXPECT_GT(ended[0].a, 10'000'000u) << "ticks: at least 30 ms of 1 GHz";
    const auto sums = Sums(&collected);
    EXPECT_EQ(sums.at(SyncKind::kMutex).contended, 1u);
    EXPECT_EQ(sums.at(SyncKind::kMutex).count, 1u) << "main's; the other one never had it";
    EXPECT_EQ(sums.at(SyncKind::kMutex).wait, ended[0].a);
  }
}

TEST(Sync, AWaitEndsWithItsThread) {
  const SyncFolder folder;
  Program program(Scenario("abandons"), folder.Preloaded("profile"));
  Collected collected(folder);
  const auto has_ended = [&collected] {
    return std::ranges::any_of(collected.Events(), [](const auto& event) {
      return event.record.kind == EventKind::kWait && event.record.b == static_cast<uint64_t>(SyncKind::kMutex);
    });
  };
  // While the parent lives: it goes on only then.
  while (!has_ended()) {
    ASSERT_FALSE(program.Ended());
    collected.Drain(false, UINT64_MAX);
    ::usleep(1000);
  }
  ASSERT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  EXPECT_EQ(OpenWaits(&collected).size(), 1u);
}

/// What events say of waits for mutexes.
struct ToldWaits {
  uint64_t single = 0, together = 0, ticks = 0, joins = 0;
  uint64_t longest_together = 0;
};

ToldWaits WaitsToldIn(const Collected& collected) {
  ToldWaits told;
  std::map<int32_t, uint64_t> last;
  for (const auto& [record, name, file] : collected.Events()) {
    if (!wire::IsWait(static_cast<int64_t>(record.kind))) continue;
    EXPECT_GE(record.ticks, std::exchange(last[record.tid], record.ticks)) << "a thread's events are in order";
    if (record.b == static_cast<uint64_t>(SyncKind::kJoin)) ++told.joins;
    if (record.b != static_cast<uint64_t>(SyncKind::kMutex)) continue;
    const bool is_single = record.kind == EventKind::kWait;
    ++(is_single ? told.single : told.together);
    if (!is_single) told.longest_together = std::max(told.longest_together, record.a);
    told.ticks += record.a;
    EXPECT_NE(record.object, 0u);
  }
  return told;
}

TEST(Sync, WaitsAreEventsAndAddUp) {
  for (const char* level : {"profile", "blame", "trace"}) {
    const SyncFolder folder;
    Program program(Scenario("counts", {4, 50'000}), folder.Preloaded(level));
    Collected collected(folder);
    while (!program.Ended()) collected.Drain(false, UINT64_MAX);
    ASSERT_TRUE(ExitedWell(program.Wait()));
    collected.Finish();
    const ToldWaits told = WaitsToldIn(collected);
    const Sum sum = Sums(&collected)[SyncKind::kMutex];
    EXPECT_EQ(told.joins, 4u) << level;
    if (collected.Dropped() > 0) continue;
    EXPECT_EQ(told.ticks, sum.wait) << level;
    EXPECT_LT(told.longest_together, wire::kShortWaitsTicks) << level;
    if (level == std::string("trace")) {
      EXPECT_EQ(told.single, sum.contended);
      EXPECT_EQ(told.together, 0u);
    } else {
      EXPECT_LE(told.single + 2 * told.together, sum.contended) << level;
    }
  }
}

class EachProgram : public testing::TestWithParam<const char*> {
 protected:
  /// What a static program's own start and end acquire of mutexes: libgcc, for its list of what can be unwound.
  static uint64_t OwnMutexes() { return GetParam() == std::string("sync_scenarios_static") ? 2 : 0; }
};
INSTANTIATE_TEST_SUITE_P(Sync, EachProgram, testing::ValuesIn(kPrograms),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(EachProgram, EachKindIsKnown) {
  const SyncFolder folder;
  Program program(Scenario("kinds", {}, GetParam()), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_EQ(sums[SyncKind::kMutex].count, 4u + OwnMutexes());
  EXPECT_EQ(sums[SyncKind::kMutex].contended, 1u) << "the one whose time was up";
  EXPECT_EQ(sums[SyncKind::kReadLock].count, 4u);
  EXPECT_EQ(sums[SyncKind::kWriteLock].count, 2u);
  EXPECT_EQ(sums[SyncKind::kWriteLock].contended, 2u) << "time was up, and it would have waited for itself";
  EXPECT_EQ(sums[SyncKind::kSpinLock].count, 1u);
  EXPECT_EQ(sums[SyncKind::kCondition].contended, 2u);
  EXPECT_EQ(sums[SyncKind::kBarrier].count, 1u);
  EXPECT_EQ(sums[SyncKind::kSemaphore].count, 1u);
  EXPECT_EQ(sums[SyncKind::kSemaphore].contended, 2u);
  EXPECT_EQ(sums[SyncKind::kWake].count, 3u);
}

TEST_P(EachProgram, C11IsSeen) {
  const SyncFolder folder;
  Program program(Scenario("c11", {3, 1000}, GetParam()), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  // Three by the timed one, two by the recursive one, those of the counting threads; each turn takes it twice.
  EXPECT_EQ(sums[SyncKind::kMutex].count, 3u + 2u + 3000u + 2000u + OwnMutexes());
  EXPECT_GE(sums[SyncKind::kMutex].contended, 1u) << "the one whose time was up";
  EXPECT_GE(sums[SyncKind::kCondition].contended, 1000u);
  EXPECT_EQ(sums[SyncKind::kCondition].contended, sums[SyncKind::kCondition].count + 1) << "time was up once";
  EXPECT_EQ(sums[SyncKind::kWake].count, 2000u);
  EXPECT_EQ(sums[SyncKind::kJoin].count, 4u);
}

TEST_P(EachProgram, WaitsForFutexesAreSeen) {
  const SyncFolder folder;
  Program program(Scenario("system_calls", {}, GetParam()), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_EQ(sums[SyncKind::kFutex].contended, 4u) << "time was up twice, one was woken, one interrupted";
  EXPECT_EQ(sums[SyncKind::kFutex].count, 1u);
  EXPECT_EQ(sums[SyncKind::kWake].count, 3u) << "one of them by a child that shares the memory";
}

TEST_P(EachProgram, AWorkerWithoutWorkIsIdle) {
  const SyncFolder folder;
  Program program(Scenario("idles", {}, GetParam()), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_EQ(sums[SyncKind::kIdle].contended, 3u) << "at a semaphore, a condition and a futex";
  EXPECT_EQ(sums[SyncKind::kMutex].count, 1u + OwnMutexes()) << "a lock is one all the same";
  EXPECT_EQ(sums[SyncKind::kSemaphore].contended, 1u) << "after it had work again";
  EXPECT_EQ(sums[SyncKind::kCondition].contended + sums[SyncKind::kFutex].contended, 0u);
}

TEST_P(EachProgram, WhoeverWaitsForAnInitialiserIsSeen) {
  const SyncFolder folder;
  Program program(Scenario("once", {}, GetParam()), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_EQ(sums[SyncKind::kOnce].count, 2u) << "POSIX's and C11's, not those who do it or find it done";
  EXPECT_EQ(sums[SyncKind::kOnce].contended, 2u);
}

TEST(Sync, WhatCppWaitsForIsSeen) {
  const std::vector<std::string> command = {std::string(ATTUNE_PROBE_PROGRAMS) + "/sync_program"};
  Program alone(command, {});
  ASSERT_TRUE(ExitedWell(alone.Wait()));
  const SyncFolder folder;
  Program observed(command, folder.Preloaded());
  ASSERT_TRUE(ExitedWell(observed.Wait()));
  EXPECT_EQ(observed.Output(), alone.Output());
  Collected collected(folder);
  collected.Finish();
  auto sums = Sums(&collected);
  EXPECT_GE(sums[SyncKind::kFutex].count + sums[SyncKind::kBarrier].count + sums[SyncKind::kFuture].count, 4u);
  EXPECT_GT(sums[SyncKind::kFutex].contended, sums[SyncKind::kFutex].count) << "the semaphore whose time was up";
  EXPECT_GT(sums[SyncKind::kFutex].wait, 0u);
  EXPECT_GT(sums[SyncKind::kWake].count, 0u);
}

TEST_P(EachProgram, AChildCountsForItself) {
  const SyncFolder folder;
  Program program(Scenario("forks", {}, GetParam()), folder.Preloaded());
  const int pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  uint64_t parent = 0, child = 0;
  for (auto& [name, reader] : collected.Readers()) {
    for (const track::SyncDelta& delta : reader.TakeSync()) {
      if (delta.kind == SyncKind::kMutex) (delta.pid == pid ? parent : child) += delta.count;
    }
  }
  EXPECT_EQ(parent, 101u + OwnMutexes());
  EXPECT_EQ(child, 30u) << "it left by _exit: what it counted is in its table";
}

TEST(Sync, AKilledProgramLosesNothing) {
  const SyncFolder folder;
  Program program(Scenario("endless", {12'345}), folder.Preloaded());
  Collected collected(folder);
  uint64_t seen = 0;
  while (seen == 0) {  // then at any moment
    collected.Drain();
    for (auto& [name, reader] : collected.Readers()) EXPECT_TRUE(reader.ReadSyncTables().ok());
    seen = Sums(&collected)[SyncKind::kMutex].count;
  }
  ::usleep(1000);
  program.Kill();
  collected.Finish();
  const uint64_t rest = Sums(&collected)[SyncKind::kMutex].count;
  EXPECT_LE(seen + rest, 12'345u);
  EXPECT_GT(seen + rest, 0u);
}

/// Hand-overs by the first thread, by kind.
std::map<SyncKind, int> HandOvers(const std::string& level, const std::string& which = "sync_scenarios") {
  const SyncFolder folder;
  Program program(Scenario("hands_over", {}, which), folder.Preloaded(level));
  const int pid = program.pid();
  EXPECT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  std::map<SyncKind, int> hand_overs;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != EventKind::kHandOver || record.tid != pid) continue;
    EXPECT_NE(record.object, 0u);
    EXPECT_NE(record.site, 0u);
    ++hand_overs[static_cast<SyncKind>(record.b)];
  }
  return hand_overs;
}

TEST_P(EachProgram, WhoMakesOthersWaitSaysSo) {
  EXPECT_THAT(HandOvers("blame", GetParam()),
              testing::UnorderedElementsAre(testing::Pair(SyncKind::kMutex, 3), testing::Pair(SyncKind::kWriteLock, 1),
                                            testing::Pair(SyncKind::kWake, 2)));
  EXPECT_THAT(HandOvers("profile", GetParam()), testing::IsEmpty());
}

TEST(Sync, WhoReleasesLaterSaysSoBeforeTheWaitEnds) {
  const SyncFolder folder;
  Program program(Scenario("hands_over"), folder.Preloaded("blame"));
  const int pid = program.pid();
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  std::map<uint64_t, std::vector<uint64_t>> released;  // by object
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind == EventKind::kHandOver && record.tid == pid) released[record.object].push_back(record.ticks);
  }
  int waits = 0;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != EventKind::kWait || record.tid == pid) continue;
    const auto& times = released[record.object];
    ++waits;
    EXPECT_TRUE(std::any_of(times.begin(), times.end(), [&wait = record](uint64_t ticks) {
      return ticks >= wait.ticks - wait.a && ticks <= wait.ticks;
    })) << record.b;
  }
  EXPECT_GE(waits, 6);
}

TEST(Sync, QuickHandOversAreToldForThoseThatFollowThemAtOnce) {
  const SyncFolder folder;
  Program program(Scenario("hands_over_quickly", {5000}), folder.Preloaded("blame"));
  const int pid = program.pid();
  Collected collected(folder);
  while (!program.Ended()) collected.Drain(false, UINT64_MAX);
  ASSERT_TRUE(ExitedWell(program.Wait()));
  collected.Finish();
  ASSERT_EQ(collected.Dropped(), 0u);
  std::vector<uint64_t> released;
  std::map<int32_t, uint64_t> last;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind == EventKind::kLongWait) continue;  // of the reader's own time: it may have been late
    EXPECT_GE(record.ticks, std::exchange(last[record.tid], record.ticks)) << "a thread's events are in order";
    if (record.kind == EventKind::kHandOver && record.tid == pid) released.push_back(record.ticks);
  }
  ASSERT_GT(released.size(), 10u);
  for (size_t i = 1; i < released.size(); ++i) EXPECT_GE(released[i] - released[i - 1], wire::kShortWaitTicks);
  int long_waits = 0;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != EventKind::kWait || record.tid == pid || record.a < wire::kShortWaitTicks) continue;
    const uint64_t since = record.ticks - record.a - wire::kShortWaitTicks;
    const auto at = std::lower_bound(released.begin(), released.end(), since);
    EXPECT_TRUE(at != released.end() && *at <= record.ticks) << "waited " << record.a;
    ++long_waits;
  }
  EXPECT_GT(long_waits, 0);
}

TEST(Sync, WaitsForLocksThatAreNeverReleasedAreToldInTheirOrder) {
  for (const char* level : {"profile", "blame", "trace"}) {
    const SyncFolder folder;
    Program program(Scenario("keeps"), folder.Preloaded(level));
    const int pid = program.pid();
    ASSERT_TRUE(ExitedWell(program.Wait()));
    Collected collected(folder);
    collected.Finish();
    std::vector<uint64_t> objects;
    uint64_t last = 0;
    for (const auto& [record, name, file] : collected.Events()) {
      if (record.tid == pid || (record.kind != EventKind::kWait && record.kind != EventKind::kLockOrder)) continue;
      EXPECT_GE(record.ticks, last) << level;
      last = record.ticks;
      if (record.kind == EventKind::kWait) objects.push_back(record.object);
    }
    ASSERT_EQ(objects.size(), 2u) << level;
    EXPECT_NE(objects[0], objects[1]);
    EXPECT_EQ(Sums(&collected)[SyncKind::kMutex].contended, 2u) << level;
  }
}

/// Which kinds of locks were acquired inside which others, and how often that was told.
std::map<std::pair<SyncKind, SyncKind>, int> Orders(const std::string& level) {
  const SyncFolder folder;
  Program program(Scenario("nested"), folder.Preloaded(level));
  EXPECT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  std::map<std::pair<SyncKind, SyncKind>, int> orders;
  for (const auto& [record, name, file] : collected.Events()) {
    if (record.kind != EventKind::kLockOrder) continue;
    EXPECT_NE(record.object, record.a);
    for (const uint64_t value : {record.object, record.site, record.a, record.b}) EXPECT_NE(value, 0u);
    ++orders[{record.held_kind, record.sync_kind}];
  }
  return orders;
}

TEST(Sync, WhatIsHadWhileALockIsAcquiredIsTold) {
  // Three times in one order: told the first and the second time, whose numbers are powers of two. Neither what is
  // tried nor what is had already is an order; a hundred different ones are told 16 times, and at the 32nd and 64th.
  using testing::Pair;
  EXPECT_THAT(Orders("blame"), testing::UnorderedElementsAre(Pair(Pair(SyncKind::kReadLock, SyncKind::kMutex), 2),
                                                             Pair(Pair(SyncKind::kReadLock, SyncKind::kSpinLock), 2),
                                                             Pair(Pair(SyncKind::kMutex, SyncKind::kSpinLock), 2),
                                                             Pair(Pair(SyncKind::kMutex, SyncKind::kMutex), 18)));
  EXPECT_THAT(Orders("profile"), testing::UnorderedElementsAre(Pair(Pair(SyncKind::kReadLock, SyncKind::kMutex), 1),
                                                               Pair(Pair(SyncKind::kReadLock, SyncKind::kSpinLock), 1),
                                                               Pair(Pair(SyncKind::kMutex, SyncKind::kSpinLock), 1),
                                                               Pair(Pair(SyncKind::kMutex, SyncKind::kMutex), 18)));
  EXPECT_THAT(Orders("off"), testing::IsEmpty());
}

/// The module that a site lies in, as of the last that was told.
const track::RingModule* ModuleOf(const std::vector<track::RingModule>& modules, uint64_t site) {
  const track::RingModule* found = nullptr;
  for (const track::RingModule& module : modules) {
    if (site >= module.start && site < module.end) found = &module;
  }
  return found;
}

TEST_P(EachProgram, TheModulesOfSitesAreTold) {
  const SyncFolder folder;
  Program program(Scenario("forks", {}, GetParam()), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  const std::string path = std::string(ATTUNE_PROBE_PROGRAMS) + "/" + GetParam();
  const auto build_id = symbols::ReadBuildId(path);
  ASSERT_TRUE(build_id.ok()) << build_id.error().message;
  for (auto& [name, reader] : collected.Readers()) {
    const auto modules = reader.TakeModules();
    ASSERT_EQ(modules.size(), 1u) << "once a process and module, and a child knows what its parent told";
    EXPECT_EQ(modules[0].path, path);
    EXPECT_EQ(modules[0].build_id, *build_id);
    EXPECT_GT(modules[0].ticks, 0u);
    symbols::Symbolizer symbolizer;
    for (const track::SyncDelta& delta : reader.TakeSync()) {
      const track::RingModule* module = ModuleOf(modules, delta.site);
      ASSERT_NE(module, nullptr);
      const auto frames = symbolizer.Resolve({module->path, module->build_id}, delta.site - module->bias);
      ASSERT_TRUE(frames.ok()) << frames.error().message;
      EXPECT_NE(frames->back().function, "");
    }
  }
}

TEST(Sync, ALibraryInAnothersPlaceIsTold) {
  const SyncFolder folder;
  Program program({std::string(ATTUNE_PROBE_PROGRAMS) + "/sync_scenarios", "plugins", ATTUNE_PROBE_PROGRAMS},
                  folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  ASSERT_EQ(collected.Readers().size(), 1u);
  track::RingReader& reader = collected.Readers().begin()->second;
  const auto modules = reader.TakeModules();
  std::string told;
  uint64_t last_ticks = 0;
  for (const track::RingModule& module : modules) {
    const size_t name = module.path.find("/sync_plugin_");
    if (name != std::string::npos) told += module.path.substr(name + 13, 1);
    EXPECT_GE(module.ticks, last_ticks);
    last_ticks = module.ticks;
  }
  // Where all lie at one address, the first is told again when it comes back; else it need not be.
  const bool all_at_one_place =
      std::all_of(modules.begin(), modules.end(), [&](const auto& m) { return m.start == modules.front().start; });
  EXPECT_TRUE(told == "aba" || (told == "ab" && !all_at_one_place)) << told;
  for (const track::SyncDelta& delta : reader.TakeSync()) EXPECT_NE(ModuleOf(modules, delta.site), nullptr);
}

TEST(Sync, AFullTableIsSaid) {
  const SyncFolder folder({.sync_entries = wire::kRingMinSyncEntries});
  // More objects and sites than sixteen neighbours hold are not to be had by hand; the smallest table must do for
  // these.
  Program program(Scenario("kinds"), folder.Preloaded());
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_EQ(LostSync(&collected), 0u);
}

TEST(Sync, NothingIsRecordedWhereTheSessionDoesNotAsk) {
  const RingFolder folder;
  Program program(Scenario("counts", {2, 100}),
                  {{ATTUNE_RING_FOLDER_VARIABLE, folder.Path()}, {"LD_PRELOAD", ATTUNE_PROBE_LIBRARY}});
  ASSERT_TRUE(ExitedWell(program.Wait()));
  Collected collected(folder);
  collected.Finish();
  EXPECT_TRUE(Sums(&collected).empty());
  EXPECT_EQ(collected.Accounted(), 0u);
}

}  // namespace
}  // namespace attune::sync_test
