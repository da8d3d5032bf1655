// When threads were in the states of their accounts, from rows that were written down here.

#include "analysis/timeline/state_parts.h"

#include <gmock/gmock.h>

#include <numeric>

#include "program_source.h"

namespace attune::analysis::state_parts_test {
namespace {

using model::ElementId;
using model::TimeState;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;
using wire::SyncKind;

/// Sums of a thread from one moment to another, in ms, by state.
using Sums = std::map<std::string, double>;

struct Program : ProgramSource {
  Program() : ProgramSource("solver", 0), lock(Object("mutex 0x1")) {}
  PlacedAccount Of() { return *PlaceAccount(*this); }

  ElementId lock;
};

Sums Between(const StateParts& parts, const ThreadStates& thread, int64_t from_ms, int64_t to_ms) {
  Sums sums;
  for (const StateLine& line : thread.lines) {
    for (size_t i = 0; i < line.ns.size(); ++i) {
      const int64_t middle_ns = parts.BeginOf(line.first + i) + parts.width_ns / 2;
      if (middle_ns >= from_ms * kMs && middle_ns < to_ms * kMs)
        sums[std::string(line.name)] += static_cast<double>(line.ns[i]) / kMs;
    }
  }
  for (auto& [name, ms] : sums) ms = std::round(ms);
  std::erase_if(sums, [](const auto& one) { return one.second == 0; });
  return sums;
}

/// All lines have the account's time, to the nanosecond.
void ExpectSums(const PlacedAccount& placed) {
  ASSERT_EQ(placed.parts.threads.size(), placed.account.threads.size());
  for (size_t i = 0; i < placed.account.threads.size(); ++i) {
    std::map<std::string_view, int64_t> wanted, found;
    for (const AccountLine& line : placed.account.threads[i].lines) {
      if (line.ns > 0) wanted[line.name] = std::llround(line.ns);
    }
    for (const StateLine& line : placed.parts.threads[i].lines)
      found[line.name] = std::accumulate(line.ns.begin(), line.ns.end(), line.before_ns);
    for (const auto& [name, ns] : wanted) EXPECT_NEAR(static_cast<double>(found[name]), static_cast<double>(ns), 1);
    EXPECT_EQ(found.size(), wanted.size());
  }
}

TEST(StateParts, WaitsLieWhereTheirEventsAreAndTheRestBetweenReadings) {
  Program program;
  const ElementId thread = program.AddThread(100, "worker");
  program.State(thread, TimeState::kRunning, 300, 500);
  program.State(thread, TimeState::kFutex, 200, 500);
  program.State(thread, TimeState::kRunning, 100, 1000);
  program.State(thread, TimeState::kPipe, 400, 1000);
  program.Wait(thread, program.lock, 0, SyncKind::kMutex, 0, 200);
  const PlacedAccount placed = program.Of();
  ExpectSums(placed);
  const StateParts& parts = placed.parts;
  ASSERT_THAT(parts.threads, SizeIs(1));
  EXPECT_EQ(Between(parts, parts.threads[0], 0, 200), (Sums{{"lock", 200}}));
  EXPECT_EQ(Between(parts, parts.threads[0], 200, 500), (Sums{{"running", 300}}));
  EXPECT_EQ(Between(parts, parts.threads[0], 500, 1000), (Sums{{"running", 100}, {"pipe", 400}}));
}

TEST(StateParts, WaitsThatSpunHaveTheAccountsPart) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.State(thread, TimeState::kRunning, 900, 1000);
  program.State(thread, TimeState::kFutex, 100, 1000);
  program.Wait(thread, program.lock, 0, SyncKind::kMutex, 400, 600);
  const PlacedAccount placed = program.Of();
  ExpectSums(placed);
  // A part at each end lies within this time in half.
  const Sums sums = Between(placed.parts, placed.parts.threads[0], 400, 600);
  EXPECT_THAT(sums, ElementsAre(Pair("lock", DoubleNear(100, 1)), Pair("running", DoubleNear(100, 1))));
  for (const StateLine& line : placed.parts.threads[0].lines)
    EXPECT_NEAR(static_cast<double>(line.waited_ns), line.name == "lock" ? 200.0 * kMs : 0, kMs);
}

TEST(StateParts, SamplesSayMoreThanFewReadings) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.State(thread, TimeState::kRunning, 400, 1000);
  program.State(thread, TimeState::kQueuedOthers, 100, 1000);
  program.State(thread, TimeState::kSleep, 500, 1000);
  const auto stream = program.AddStream(250 * kMs, {{thread, "thread", "run", "ns"}, {thread, "thread", "wait", "ns"}});
  program.samples[stream] = {
      {250 * kMs, {200 * kMs, 0}}, {500 * kMs, {400 * kMs, 50 * kMs}}, {1000 * kMs, {400 * kMs, 100 * kMs}}};
  const PlacedAccount placed = program.Of();
  ExpectSums(placed);
  EXPECT_EQ(Between(placed.parts, placed.parts.threads[0], 0, 250).at("running"), 200);
  EXPECT_EQ(Between(placed.parts, placed.parts.threads[0], 250, 500).at("queued_others"), 50);
  EXPECT_EQ(Between(placed.parts, placed.parts.threads[0], 500, 1000), (Sums{{"queued_others", 50}, {"sleep", 450}}));
}

TEST(StateParts, WithoutReadingsLieInTheThreadsLife) {
  Program program;
  const ElementId thread = program.AddThread(100);
  program.meta.elements.back().start_ns = 500 * kMs;
  program.meta.processes[0].pid = 99;
  const auto stream = program.AddStream(250 * kMs, {{thread, "thread", "run", "ns"}, {thread, "thread", "wait", "ns"}});
  program.samples[stream] = {{1000 * kMs, {300 * kMs, 0}}};
  program.sync.push_back({1000 * kMs, thread, program.lock, 0, SyncKind::kMutex, 1, 1, 150 * kMs, 0, 0});
  const PlacedAccount placed = program.Of();
  ExpectSums(placed);
  EXPECT_EQ(Between(placed.parts, placed.parts.threads[0], 0, 500), (Sums{}));
  EXPECT_EQ(Between(placed.parts, placed.parts.threads[0], 500, 1000), (Sums{{"running", 300}, {"lock", 150}}));
}

TEST(StateParts, OfAThreadThatIsOlderThanTheRecordingBeginBeforeIt) {
  Program program;
  program.extent = {900 * kMs, 1000 * kMs};
  const ElementId thread = program.AddThread(100);
  const auto stream = program.AddStream(50 * kMs, {{thread, "thread", "run", "ns"}, {thread, "thread", "wait", "ns"}});
  program.samples[stream] = {{900 * kMs, {300 * kMs, 0}}, {950 * kMs, {350 * kMs, 0}}, {1000 * kMs, {350 * kMs, 0}}};
  const PlacedAccount placed = program.Of();
  ExpectSums(placed);
  const auto& lines = placed.parts.threads.at(0).lines;
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(lines[0].before_ns, 300 * kMs);
  EXPECT_EQ(Between(placed.parts, placed.parts.threads[0], 900, 950), (Sums{{"running", 50}}));
}

}  // namespace
}  // namespace attune::analysis::state_parts_test
