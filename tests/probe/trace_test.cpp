// What programs that are traced leave: every acquisition and release, in each thread's order, with times that hold.

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "sync_run.h"

namespace attune::trace_test {
namespace {

using testing::Each;
using testing::Field;
using track::TraceRecord;
using wire::SyncKind;
using wire::TraceOp;

std::vector<std::string> Scenario(const std::string& name, const std::vector<long>& numbers = {},
                                  const std::string& program = "sync_scenarios") {
  std::vector<std::string> command = {std::string(ATTUNE_PROBE_PROGRAMS) + "/" + program, name};
  for (const long number : numbers) command.push_back(std::to_string(number));
  return command;
}

/// What the traces of a folder's programs said.
class Traced {
 public:
  explicit Traced(const RingFolder& folder) : collected_(folder) {}

  /// As a session that streams. @param is_last the programs are gone
  void Read(bool is_last) {
    collected_.Drain(is_last, UINT64_MAX);
    for (auto& [name, reader] : collected_.Readers()) {
      const auto keep = [&](std::span<const TraceRecord> some) {
        for (const TraceRecord& record : some) threads_[{record.pid, record.tid}].push_back(record);
      };
      ASSERT_TRUE(reader.ReadTraces(is_last, keep).ok());
    }
  }
  Collected& Rings() { return collected_; }
  const std::map<std::pair<int, int>, std::vector<TraceRecord>>& Threads() const { return threads_; }

  uint64_t Count(TraceOp op, SyncKind kind) const {
    uint64_t count = 0;
    for (const auto& [ids, records] : threads_) {
      count += static_cast<uint64_t>(std::count_if(records.begin(), records.end(), [&](const TraceRecord& record) {
        return record.op == op && record.kind == kind;
      }));
    }
    return count;
  }
  track::TraceCounters Counters() {
    track::TraceCounters sum;
    for (auto& [name, reader] : collected_.Readers()) {
      sum.delivered += reader.Traced().delivered;
      sum.overwritten += reader.Traced().overwritten;
      sum.lost += reader.Traced().lost;
    }
    return sum;
  }

 private:
  Collected collected_;
  std::map<std::pair<int, int>, std::vector<TraceRecord>> threads_;
};

/// Runs it to its end, and reads its traces once: what a flight recorder has.
void Fly(const std::vector<std::string>& command, const SyncFolder& folder, const std::string& level, Traced* traced) {
  Program program(command, folder.Preloaded(level));
  while (!program.Ended()) {
    traced->Rings().Drain(false, UINT64_MAX);
    ::usleep(1000);
  }
  ASSERT_TRUE(ExitedWell(program.Wait()));
  traced->Read(true);
}

/// A thread releases what it has acquired last, one lock at a time; its times do not go back.
void ExpectTurns(const std::vector<TraceRecord>& records) {
  bool has = records.front().op == TraceOp::kReleased;  // of an acquisition that is gone
  uint64_t last = 0, wrong = 0;
  for (const TraceRecord& record : records) {
    if (record.kind != SyncKind::kMutex) continue;
    if ((record.op == TraceOp::kReleased) != has || record.ticks < last || record.site == 0) ++wrong;
    has = record.op == TraceOp::kAcquired;
    last = record.ticks;
  }
  EXPECT_EQ(wrong, 0u);
}

class TraceLevel : public testing::TestWithParam<const char*> {};

TEST_P(TraceLevel, HasEveryAcquisitionInItsOrder) {
  const SyncFolder folder;
  Traced traced(folder);
  Fly(Scenario("counts", {3, 4000}), folder, GetParam(), &traced);
  EXPECT_EQ(traced.Count(TraceOp::kAcquired, SyncKind::kMutex), 12'000u);
  EXPECT_EQ(traced.Count(TraceOp::kReleased, SyncKind::kMutex), 12'000u);
  EXPECT_EQ(Sums(&traced.Rings())[SyncKind::kMutex].count, 12'000u);
  EXPECT_EQ(traced.Counters().delivered, 24'000u);
  EXPECT_EQ(traced.Counters().overwritten + traced.Counters().lost, 0u);
  EXPECT_EQ(traced.Threads().size(), 3u);
  for (const auto& [ids, records] : traced.Threads()) ExpectTurns(records);
}

TEST_P(TraceLevel, SaysHowFarATimeMayBeOff) {
  const SyncFolder folder;
  Traced traced(folder);
  Fly(Scenario("counts", {1, 5000}), folder, GetParam(), &traced);
  ASSERT_EQ(traced.Threads().size(), 1u);
  const std::vector<TraceRecord>& records = traced.Threads().begin()->second;
  const bool is_stamped = std::string(GetParam()) == "stamped";
  if (is_stamped) {
    EXPECT_THAT(records, Each(Field(&TraceRecord::bound, 0u)));
  }
  uint64_t known = 0, wrong = 0, since = 0;
  for (const TraceRecord& record : records) {
    if (record.bound == 0) {
      ++known;
      since = record.ticks;
    }
    // What it may be off is not more than the time since the last one that is known, and to the next one.
    if (since != 0 && (record.ticks < since || (record.bound != 0 && record.ticks - since > record.bound))) ++wrong;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GE(known, records.size() / wire::kTraceStampMost);
}

INSTANTIATE_TEST_SUITE_P(Trace, TraceLevel, testing::Values("trace", "stamped"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Trace, KeepsTheNewestWhereNobodyReads) {
  const SyncFolder folder({.sync_entries = wire::kRingUsualSyncEntries, .trace_words = wire::kTraceMinWords});
  Traced traced(folder);
  Fly(Scenario("counts", {1, 50'000}), folder, "trace", &traced);
  const uint64_t delivered = traced.Counters().delivered;
  EXPECT_GT(delivered, wire::kTraceMinWords - wire::kTraceMinWords / 4);
  EXPECT_LE(delivered, wire::kTraceMinWords);
  EXPECT_EQ(delivered + traced.Counters().overwritten, 100'000u + 2);  // and whose they are, and since when
  ASSERT_EQ(traced.Threads().size(), 1u);
  const std::vector<TraceRecord>& records = traced.Threads().begin()->second;
  ExpectTurns(records);
  EXPECT_EQ(records.back().op, TraceOp::kReleased);
}

TEST(Trace, IsAStreamWhereItIsReadAgainAndAgain) {
  const SyncFolder folder;
  Traced traced(folder);
  Program program(Scenario("counts", {4, 50'000}), folder.Preloaded("trace"));
  while (!program.Ended()) traced.Read(false);
  ASSERT_TRUE(ExitedWell(program.Wait()));
  traced.Read(true);
  const uint64_t seen =
      traced.Count(TraceOp::kAcquired, SyncKind::kMutex) + traced.Count(TraceOp::kReleased, SyncKind::kMutex);
  EXPECT_EQ(seen, traced.Counters().delivered);
  EXPECT_EQ(traced.Counters().lost, 0u);
  // Words of whose they are: two for each of the threads.
  EXPECT_LE(seen + traced.Counters().overwritten, 400'000u + 8);
  EXPECT_GE(seen + traced.Counters().overwritten, 400'000u);
  if (traced.Counters().overwritten > 0) return;  // the reader had no CPU for a while
  for (const auto& [ids, records] : traced.Threads()) ExpectTurns(records);
}

TEST_P(TraceLevel, HasAllOfAThreadThatIsQuietNow) {
  const SyncFolder folder;
  Traced traced(folder);
  Program program(Scenario("steps", {25}), folder.Preloaded(GetParam()));
  for (uint64_t step = 1; step <= 3; ++step) {
    program.Do('l');  // so quickly that most have no time of their own
    traced.Read(false);
    EXPECT_EQ(traced.Count(TraceOp::kAcquired, SyncKind::kMutex), step * 25);
    EXPECT_EQ(traced.Count(TraceOp::kReleased, SyncKind::kMutex), step * 25);
  }
  ASSERT_TRUE(ExitedWell(program.Wait()));
  traced.Read(true);
  EXPECT_EQ(traced.Counters().delivered, 150u);
  for (const auto& [ids, records] : traced.Threads()) ExpectTurns(records);
}

TEST(Trace, HasEachKindOfLock) {
  const SyncFolder folder;
  Traced traced(folder);
  Fly(Scenario("kinds"), folder, "stamped", &traced);
  auto sums = Sums(&traced.Rings());
  for (const SyncKind kind : {SyncKind::kMutex, SyncKind::kReadLock, SyncKind::kWriteLock, SyncKind::kSpinLock}) {
    // A wait for a condition releases the mutex, and ends with it: that is acquired without being counted.
    const uint64_t more = kind == SyncKind::kMutex ? 2 : 0;
    EXPECT_EQ(traced.Count(TraceOp::kAcquired, kind), sums[kind].count + more) << static_cast<int>(kind);
    EXPECT_GT(sums[kind].count, 0u);
  }
  EXPECT_EQ(traced.Count(TraceOp::kReleased, SyncKind::kMutex), traced.Count(TraceOp::kAcquired, SyncKind::kMutex));
  EXPECT_EQ(traced.Count(TraceOp::kAcquired, SyncKind::kSemaphore), sums[SyncKind::kSemaphore].count);
  EXPECT_EQ(traced.Count(TraceOp::kSignalled, SyncKind::kWake), sums[SyncKind::kWake].count);
}

TEST(Trace, OfShortThreadsEachHasItsOwn) {
  const SyncFolder folder;
  Traced traced(folder);
  Program program(Scenario("short_threads", {200}, "hard_cases"), folder.Preloaded("trace"));
  while (!program.Ended()) traced.Read(false);
  ASSERT_TRUE(ExitedWell(program.Wait()));
  traced.Read(true);
  uint64_t refused = 0;
  for (auto& [name, reader] : traced.Rings().Readers()) refused += reader.Counters().refused_threads;
  EXPECT_LE(traced.Threads().size(), 202u);
  EXPECT_GE(traced.Threads().size() + refused, 200u);
  for (const auto& [ids, records] : traced.Threads()) ExpectTurns(records);
}

TEST(Trace, GoesOnInAChild) {
  const SyncFolder folder;
  Traced traced(folder);
  Fly(Scenario("forks"), folder, "trace", &traced);
  std::map<int, size_t> processes;
  for (const auto& [ids, records] : traced.Threads()) processes[ids.first] += records.size();
  EXPECT_GT(processes.size(), 1u);
}

TEST(Trace, BeginsWhenTheLevelSaysSo) {
  const SyncFolder folder;
  Traced traced(folder);
  Program program(Scenario("steps"), folder.Preloaded("profile"));
  program.Do('l');
  traced.Read(false);
  ASSERT_EQ(traced.Rings().Readers().size(), 1u);
  track::RingReader& reader = traced.Rings().Readers().begin()->second;
  EXPECT_EQ(traced.Counters().delivered, 0u);
  ASSERT_TRUE(reader.SetLevel(wire::kRingLevelStamped).ok());
  program.Do('l');  // before its trace is there: lost, and counted
  traced.Read(false);
  EXPECT_EQ(traced.Counters().delivered, 0u);
  EXPECT_EQ(traced.Counters().lost, 2u);
  program.Do('l');
  traced.Read(false);
  EXPECT_EQ(traced.Counters().delivered, 2u);
  ASSERT_TRUE(reader.SetLevel(wire::kRingLevelBlame).ok());
  program.Do('l');
  traced.Read(false);
  EXPECT_EQ(traced.Counters().delivered, 2u);
  ASSERT_TRUE(ExitedWell(program.Wait()));
  traced.Read(true);
  EXPECT_EQ(traced.Count(TraceOp::kAcquired, SyncKind::kMutex), 1u);
  EXPECT_EQ(traced.Count(TraceOp::kReleased, SyncKind::kMutex), 1u);
}

}  // namespace
}  // namespace attune::trace_test
