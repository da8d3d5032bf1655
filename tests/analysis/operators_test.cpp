// What is computed while a program runs is what is computed of its recording, and its memory is bounded.

#include "analysis/operators/operator.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <span>

#include "analysis/findings/find_findings.h"
#include "analysis/findings/judgement.h"
#include "analysis/findings/program_operators.h"
#include "analysis/waits/event_order.h"
#include "program_source.h"

namespace attune::analysis::operators_test {
namespace {

using model::ElementId;
using testing::AllOf;
using testing::Contains;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::Not;
using wire::SyncKind;

/// Threads that wait for a lock and meet at a barrier, and are sampled.
ProgramSource BusyProgram() {
  ProgramSource program("solver", 4);
  program.meta.info["cpus_online"] = "0-1";
  const ElementId lock = program.Object("mutex 0x1"), barrier = program.Object("barrier 0x2");
  const ElementId at_lock = program.Place("solver+0x1"), at_barrier = program.Place("solver+0x2");
  for (int round = 0; round < 50; ++round) {
    const int64_t t = int64_t{20} * round;
    for (size_t i = 0; i < 4; ++i) {
      program.Wait(program.thread[i], lock, at_lock, SyncKind::kMutex, t, t + 1 + static_cast<int64_t>(i) * 2);
      program.Wait(program.thread[i], barrier, at_barrier, SyncKind::kBarrier, t + 12 + static_cast<int64_t>(i),
                   t + 17);
    }
  }
  std::vector<FakeSource::Signal> signals;
  for (const ElementId thread : program.thread) {
    for (const char* name : {"run", "wait"}) signals.push_back({thread, "thread", name, "ns"});
  }
  const model::StreamId stream = program.AddStream(100 * kMs, signals);
  for (int64_t t = 100; t <= 1000; t += 100) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < 4; ++i) {
      values.push_back(t * kMs / 2);
      values.push_back(t * kMs / 4);
    }
    program.samples[stream].emplace_back(t * kMs, values);
  }
  return program;
}

model::Batch EventBatch(std::span<const FakeSource::EventRow> rows) {
  model::Batch batch{.table = model::Event::kTable, .rows = rows.size(), .ints = {}, .texts = {}};
  batch.ints.resize(7);
  for (const auto& row : rows) {
    const int64_t cells[] = {row.t_ns, row.thread, static_cast<int64_t>(row.kind), row.object, row.site, row.a, row.b};
    for (size_t i = 0; i < 7; ++i) batch.ints[i].push_back(cells[i]);
  }
  return batch;
}

TEST(LiveFeed, FindsWhatIsFoundInTheRecording) {
  ProgramSource program = BusyProgram();
  const auto recorded = JudgeProgram(program);
  ASSERT_TRUE(recorded.ok());
  ASSERT_THAT(recorded->findings, Not(IsEmpty()));

  ProgramOperators live;
  LiveFeed feed(program, live.All());
  feed.Learn();
  // Threads one after the other, a part of the time at once: as rings are read.
  for (int64_t t = 0; t < 1000; t += 100) {
    for (const ElementId thread : program.thread) {
      std::vector<FakeSource::EventRow> rows;
      for (const auto& row : program.events) {
        if (row.thread == thread && row.t_ns > t * kMs && row.t_ns <= (t + 100) * kMs) rows.push_back(row);
      }
      if (!rows.empty()) feed.Add(EventBatch(rows));
    }
  }
  feed.Add(model::ToBatch(program.sync));
  for (const auto& [stream, rows] : program.samples) {
    for (const auto& [t_ns, values] : rows) {
      model::Batch batch{.table = model::Sample::kTable, .stream = stream, .rows = 1, .ints = {{t_ns}}, .texts = {}};
      for (const int64_t value : values) batch.ints.push_back({value});
      feed.Add(batch);
    }
  }
  const SiteNames names(program.meta, {});
  const auto findings = FindFindings(live.Snapshot(program.meta, names, program.extent.t1_ns, INT64_MAX));
  ASSERT_EQ(findings.size(), recorded->findings.size());
  for (size_t i = 0; i < findings.size(); ++i) {
    EXPECT_EQ(findings[i].kind, recorded->findings[i].kind);
    EXPECT_EQ(findings[i].object, recorded->findings[i].object);
    // Sums over time lie in another grid.
    const auto lost_ns = static_cast<double>(recorded->findings[i].lost_ns);
    EXPECT_THAT(static_cast<double>(findings[i].lost_ns), DoubleNear(lost_ns, 0.01 * lost_ns));
    EXPECT_EQ(findings[i].site.id, recorded->findings[i].site.id);
  }
}

TEST(LiveFeed, LeavesOutSamplesOfStreamsThatNobodyWants) {
  ProgramSource program = BusyProgram();
  const ElementId cpu = program.AddElement(model::ElementKind::kCpu, "cpu 0");
  const model::StreamId other = program.AddStream(kMs, {{cpu, "cpu", "user", "ns"}});
  ProgramOperators live;
  LiveFeed feed(program, live.All());
  EXPECT_THAT(feed.Learn(), ElementsAre(other));
}

/// The times of the events that it is given.
class Recorder final : public Operator {
 public:
  explicit Recorder(EventKinds kinds) : kinds_(kinds) {}
  EventKinds Kinds() const override { return kinds_; }
  void AddEvents(const model::EventBlock& block) override {
    ++blocks;
    t_ns.insert(t_ns.end(), block.t_ns.begin(), block.t_ns.end());
  }

  int blocks = 0;
  std::vector<int64_t> t_ns;

 private:
  const EventKinds kinds_;
};

TEST(EventFeed, GivesOperatorsTheEventsThatTheyLookFor) {
  using enum wire::EventKind;
  FakeSource source;
  source.events = {{1, 1, kRegionBegin, 5}, {2, 1, kWait, 6, 1},     {3, 1, kRegionEnd, 5},
                   {4, 1, kInstant, 7},     {5, 1, kRegionBegin, 5}, {6, 1, kRegionEnd, 5},
                   {7, 1, kHandOver, 6},    {8, 1, kRegionBegin, 5}, {9, 1, static_cast<wire::EventKind>(200), 5},
                   {10, 1, kRegionEnd, 5},  {11, 1, kRegionBegin, 5}};
  Recorder all(EventKinds::All()), waits({kWait}), ordered(kOrderedEvents), orders({kLockOrder}), none({});
  Operator* const operators[] = {&all, &waits, &ordered, &orders, &none};
  ASSERT_TRUE(FeedEvents(source, operators).ok());
  EXPECT_THAT(all.t_ns, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(waits.t_ns, AllOf(Contains(2), IsSubsetOf({2, 7})));  // those of others, too
  EXPECT_THAT(ordered.t_ns, ElementsAre(2, 7));
  EXPECT_EQ(orders.blocks, 0);
  EXPECT_EQ(none.blocks, 0);
}

TEST(EventOrder, PutsAReleaseBeforeTheEndOfTheWaitForIt) {
  FakeSource source;
  const auto kind = [](wire::EventKind which) { return static_cast<int64_t>(which); };
  source.events = {{20, 1, wire::EventKind::kWait, 5, 10},
                   {10, 2, wire::EventKind::kHandOver, 5},
                   {20, 2, wire::EventKind::kHandOver, 5},
                   {15, 3, wire::EventKind::kInstant, 6}};
  EventOrder order;
  ASSERT_TRUE(source
                  .ReadEvents({INT64_MIN, INT64_MAX},
                              [&](const model::EventBlock& block) {
                                order.Add(block);
                                return true;
                              })
                  .ok());
  std::vector<std::pair<int64_t, int64_t>> seen;
  const auto visit = [&](const model::Event& event) {
    seen.emplace_back(event.t_ns, static_cast<int64_t>(event.kind));
  };
  order.Release(20, visit);
  EXPECT_THAT(seen, ElementsAre(std::pair(int64_t{10}, kind(wire::EventKind::kHandOver))));
  order.ReleaseAll(visit);
  EXPECT_THAT(seen, ElementsAre(std::pair(int64_t{10}, kind(wire::EventKind::kHandOver)),
                                std::pair(int64_t{20}, kind(wire::EventKind::kHandOver)),
                                std::pair(int64_t{20}, kind(wire::EventKind::kWait))));
}

/// One thread's events after the other's, as rings are read.
TEST(EventOrder, GivesManyEventsOfThreadsInOrderOfTime) {
  EventOrder order;
  std::mt19937 random(5);
  std::vector<model::Event> seen;
  const auto visit = [&](const model::Event& event) { seen.push_back(event); };
  size_t added = 0;
  for (int64_t part = 0; part < 300; ++part) {
    std::vector<FakeSource::EventRow> rows;
    for (int64_t thread = 1; thread <= 8; ++thread) {
      for (int64_t i = 0; i < 100; ++i) {
        const bool is_release = random() % 4 == 0;
        rows.push_back({part * 30 * kMs + static_cast<int64_t>(random() % 1000) * kMs / 100, thread,
                        is_release ? wire::EventKind::kHandOver : wire::EventKind::kWait, 7,
                        static_cast<int64_t>(added + rows.size())});
      }
    }
    added += rows.size();
    const model::Batch batch = EventBatch(rows);
    const auto& c = batch.ints;
    order.Add({c[0], c[1], c[2], c[3], c[4], c[5], c[6]});
    EXPECT_EQ(order.size() + seen.size(), added);
    order.ReleaseMany(visit);
  }
  EXPECT_THAT(seen, Not(IsEmpty()));
  EXPECT_GT(order.size(), 0u);
  order.ReleaseAll(visit);
  EXPECT_EQ(order.size(), 0u);
  ASSERT_EQ(seen.size(), added);
  // Of one moment releases come first, else what came first does.
  EXPECT_TRUE(std::ranges::is_sorted(seen, {}, [](const model::Event& event) {
    return std::tuple(event.t_ns, -static_cast<int>(event.kind), event.a);
  }));
}

TEST(EventOrder, DropsOnlyWhatHasSettled) {
  constexpr int64_t kStepNs = kMs / 100;
  constexpr int64_t kEvents = 500'000;
  EventOrder order;
  for (int64_t begin = 0; begin < kEvents; begin += 1000) {
    std::vector<FakeSource::EventRow> rows;
    for (int64_t i = begin; i < begin + 1000; ++i) rows.push_back({i * kStepNs, 1, wire::EventKind::kWait, 7, kMs});
    const model::Batch batch = EventBatch(rows);
    const auto& c = batch.ints;
    order.Add({c[0], c[1], c[2], c[3], c[4], c[5], c[6]});
    order.DropMany();
  }
  const auto unsettled = static_cast<size_t>(EventOrder::kSettleByFarNs / kStepNs);
  EXPECT_GE(order.size(), unsettled);
  EXPECT_LT(order.size(), unsettled + 10'000);
  int64_t last_ns = 0;
  order.ReleaseAll([&](const model::Event& event) { last_ns = event.t_ns; });
  EXPECT_EQ(last_ns, (kEvents - 1) * kStepNs);
}

TEST(TimeGrid, DoublesItsPartsWhereTimeGoesOn) {
  TimeGrid grid;
  std::vector<double> bins;
  double sum = 0;
  for (int64_t t = 0; t < 100'000 * kMs; t += 977 * kMs) {
    const int64_t end = t + 400 * kMs;
    for (int joined = grid.Cover(t, end); joined > 0; --joined) TimeGrid::JoinPairs(bins);
    bins.resize(std::max(bins.size(), grid.BinsUntil(end)));
    grid.Spread(t, end, [&](size_t bin, int64_t ns) { bins.at(bin) += static_cast<double>(ns); });
    sum += static_cast<double>(400 * kMs);
  }
  EXPECT_LE(bins.size(), TimeGrid::kBins);
  EXPECT_GT(grid.bin_ns(), TimeGrid::kLeastBinNs);
  double all = 0;
  for (const double ns : bins) {
    EXPECT_LE(ns, static_cast<double>(grid.bin_ns()));
    all += ns;
  }
  EXPECT_THAT(all, DoubleNear(sum, 1));
}

TEST(Concurrency, DoesNotDependOnTheOrderOfThreads) {
  const auto thread_of = [](const FakeSource::EventRow& row) { return row.thread; };
  ProgramSource program("solver", 4);
  std::mt19937 random(3);
  // Some waits are within a part of time, some reach over several; and those for a thread's end are apart.
  for (const ElementId thread : program.thread) {
    int64_t t_ns = 1;
    while (t_ns < 900 * kMs) {
      const auto wait_ns = static_cast<int64_t>(random() % (random() % 20 == 0 ? 5'000'000 : 20'000));
      t_ns += wait_ns + static_cast<int64_t>(random() % 20'000);
      const SyncKind kind = random() % 50 == 0 ? SyncKind::kJoin : SyncKind::kMutex;
      program.events.push_back({t_ns, thread, wire::EventKind::kWait, 5, wait_ns, 9, static_cast<int64_t>(kind)});
    }
  }
  SyncSums sums;
  std::vector<ThreadLife> lives;
  for (const ElementId thread : program.thread) {
    sums.waited_by_thread[thread] = 300 * kMs;
    lives.push_back({thread, program.process, 0, 1000 * kMs});
  }
  const auto add_up = [&] {
    ConcurrencyOperator concurrency(TimeGrid({0, 1000 * kMs}));
    Operator* const only[] = {&concurrency};
    EXPECT_TRUE(FeedEvents(program, only).ok());
    return concurrency.Snapshot(sums, lives).at(program.process);
  };
  const auto compare = [](const Concurrency& a, const Concurrency& b) {
    EXPECT_EQ(a.several_ns, b.several_ns);
    EXPECT_EQ(a.serial_ns, b.serial_ns);
    EXPECT_EQ(a.others_ns, b.others_ns);
    EXPECT_EQ(a.waiting_ns, b.waiting_ns);
  };
  const Concurrency one_by_one = add_up();
  EXPECT_GT(one_by_one.waiting_ns, 0);
  std::ranges::stable_sort(program.events, {}, &FakeSource::EventRow::t_ns);
  compare(one_by_one, add_up());
  std::ranges::stable_sort(program.events, {}, thread_of);
  compare(one_by_one, add_up());

  // All at once: a block is as large as what the operators are given at a time.
  ConcurrencyOperator at_once(TimeGrid({0, 1000 * kMs}));
  const model::Batch batch = EventBatch(program.events);
  const auto& c = batch.ints;
  at_once.AddEvents({c[0], c[1], c[2], c[3], c[4], c[5], c[6]});
  compare(one_by_one, at_once.Snapshot(sums, lives).at(program.process));
}

TEST(BarrierWaits, SettledRoundsCountAsIfTheyWereKept) {
  constexpr int kRounds = 20'000;
  BarrierWaits all_at_once, in_disorder;
  std::mt19937 random(7);
  std::vector<BarrierWait> waits;
  for (int64_t round = 0; round < kRounds; ++round) {
    for (ElementId thread = 1; thread <= 4; ++thread) {
      const int64_t arrival = round * 10 * kMs + thread * kMs;
      waits.push_back({arrival, round * 10 * kMs + 5 * kMs + thread, thread, 9});
    }
  }
  for (const BarrierWait& wait : waits) all_at_once.Add(1, wait);
  for (auto part = waits.begin(); part != waits.end(); part += 80) std::shuffle(part, part + 80, random);
  for (const BarrierWait& wait : waits) in_disorder.Add(1, wait);
  const ElementId barrier = 1;
  for (const BarrierWaits* each : {&all_at_once, &in_disorder}) {
    const BarrierRounds rounds = each->RoundsAt({&barrier, 1});
    EXPECT_EQ(rounds.rounds, kRounds);
    EXPECT_THAT(rounds.participants, DoubleNear(4, 1e-9));
    ASSERT_EQ(rounds.late.size(), 1u);
    EXPECT_EQ(rounds.late[0].thread, 4u);
    EXPECT_EQ(rounds.late[0].rounds, kRounds);
  }
}

}  // namespace
}  // namespace attune::analysis::operators_test
