// What ranks did when, read and from the index: the same answer both ways.

#include "analysis/timeline/rank_timeline.h"

#include <gmock/gmock.h>

#include <map>

#include "message_source.h"
#include "model/table_ranges.h"

namespace attune::analysis::rank_timeline_test {
namespace {

using model::ElementId;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kMs = JobSource::kMs;
constexpr int64_t kSecond = 1000 * kMs;
constexpr auto kMessages = static_cast<int64_t>(RankState::kMessages);
constexpr auto kLateSender = static_cast<int64_t>(RankState::kLateSender);
constexpr auto kLateReceiver = static_cast<int64_t>(RankState::kLateReceiver);
constexpr auto kCollective = static_cast<int64_t>(RankState::kCollective);
constexpr auto kCollectiveWait = static_cast<int64_t>(RankState::kCollectiveWait);

RankTimelineView View(RankTimeline& timeline, model::TimeRange range, uint32_t buckets,
                      const std::vector<ElementId>& ranks) {
  auto view = timeline.View(range, buckets, ranks);
  EXPECT_TRUE(view.ok());
  return view.value_or({});
}

/// Time by (rank, state): of single calls, waiting counts in the call that it is a part of, too.
std::map<std::pair<int64_t, int64_t>, int64_t> Sums(const model::Batch& batch) {
  std::map<std::pair<int64_t, int64_t>, int64_t> sums;
  for (size_t row = 0; row < batch.rows; ++row) sums[{batch.ints[1][row], batch.ints[2][row]}] += batch.ints[3][row];
  return sums;
}

TEST(RankTimeline, FewCallsAreGivenOneByOneWithWhatWasWaitedInThem) {
  JobSource job(2);
  const ElementId at = job.Site("exchange", 12);
  job.Send(0, 1, {at, 500, 510}, {at, 200, 520}, 4096, 7);  // late sender: 300 ms
  job.Send(1, 0, {at, 600, 710}, {at, 700, 720});           // late receiver: 100 ms
  const ElementId reduce = job.Function("MPI_Allreduce");
  job.Meet(reduce, 1, 0, {at, 800, 910});
  job.Meet(reduce, 1, 1, {at, 900, 905});
  RankTimeline timeline(job);
  const RankTimelineView view = View(timeline, {0, kSecond}, 100, job.rank);
  ASSERT_TRUE(view.is_single);
  EXPECT_EQ(view.rows, 6);
  auto sums = Sums(view.calls);
  EXPECT_EQ((sums[{job.rank[1], kMessages}]), (320 + 110) * kMs);
  EXPECT_EQ((sums[{job.rank[1], kLateSender}]), 300 * kMs);
  EXPECT_EQ((sums[{job.rank[1], kLateReceiver}]), 100 * kMs);
  EXPECT_EQ((sums[{job.rank[0], kCollective}]), 110 * kMs);
  EXPECT_EQ((sums[{job.rank[0], kCollectiveWait}]), 100 * kMs);
  EXPECT_EQ(sums.count({job.rank[1], kCollectiveWait}), 0u) << "it was the last one";
  ASSERT_EQ(view.arrows.rows, 2u);
  EXPECT_EQ(view.arrows.ints[0][0], 500 * kMs);
  EXPECT_EQ(view.arrows.ints[1][0], job.rank[0]);
  EXPECT_EQ(view.arrows.ints[2][0], job.rank[1]);
  EXPECT_EQ(view.arrows.ints[3][0], 520 * kMs);
  EXPECT_EQ(view.arrows.ints[4][0], 4096);
  EXPECT_EQ(view.arrows.ints[5][0], 7);
  EXPECT_EQ(view.arrows.ints[8][0], 300 * kMs);
}

TEST(RankTimeline, WhatLiesAcrossTheRangeIsThere) {
  JobSource job(2);
  const ElementId at = job.Site("exchange", 12);
  job.Send(0, 1, {at, 9000, 9010}, {at, 100, 9020});
  RankTimeline timeline(job);
  const RankTimelineView view = View(timeline, {5 * kSecond, 5 * kSecond + kMs}, 100, {job.rank[1]});
  ASSERT_TRUE(view.is_single);
  EXPECT_THAT(view.calls.ints[2], ElementsAre(kMessages, kLateSender));
  EXPECT_EQ(view.calls.ints[3][1], 8900 * kMs);
  EXPECT_EQ(view.arrows.rows, 0u) << "it was sent later";
}

TEST(RankTimeline, ACallForSeveralMessagesIsOneSpan) {
  JobSource job(3);
  const ElementId at = job.Site("exchange", 12);
  for (size_t from : {size_t{0}, size_t{2}}) job.Send(from, 1, {at, 400 + 100 * int64_t(from), 610}, {at, 200, 700});
  RankTimeline timeline(job);
  const RankTimelineView view = View(timeline, {0, kSecond}, 100, {job.rank[1]});
  auto sums = Sums(view.calls);
  EXPECT_EQ((sums[{job.rank[1], kMessages}]), 500 * kMs);
  EXPECT_EQ((sums[{job.rank[1], kLateSender}]), 400 * kMs) << "until the last one came";
}

TEST(RankTimeline, WhatWasNotAskedForIsLeftOut) {
  JobSource job(3);
  const ElementId at = job.Site("exchange", 12);
  job.Send(0, 1, {at, 500, 510}, {at, 200, 520});
  RankTimeline timeline(job);
  const RankTimelineView view = View(timeline, {0, kSecond}, 100, {job.rank[2]});
  EXPECT_EQ(view.calls.rows + view.arrows.rows, 0u);
  EXPECT_TRUE(View(timeline, {0, kSecond}, 100, {}).is_single);
}

TEST(RankTimeline, MessagesToOtherHostsAreNotWaitedForAndOpenNothing) {
  JobSource job(1);
  const ElementId other = job.AddElsewhere(1);
  const ElementId at = job.Site("exchange", 12);
  for (int i = 0; i < 100; ++i) {
    job.messages.push_back(job.Row(model::MessageKind::kSent, 0, other, {at, i * 10, i * 10 + 5}, 8));
  }
  RankTimeline timeline(job);
  const RankTimelineView view = View(timeline, {0, kSecond}, 100, job.rank);
  EXPECT_EQ(view.calls.rows, 100u);
  EXPECT_EQ(view.arrows.rows, 0u);
}

/// Rounds in which rank 0 sends 60 us late, one each 100 us. Many have one tag, and messages are under way at any time.
struct ManyRounds : JobSource, model::TableRanges {
  static constexpr int64_t kRoundNs = 100'000;
  explicit ManyRounds(int64_t rounds) : JobSource(2) {
    at = Site("exchange", 12);
    extent = {0, (rounds + 10) * kRoundNs};
    for (int64_t i = 0; i < rounds; ++i) {
      const int64_t t0_ns = i * kRoundNs;
      const Call none{at, 0, 0};
      model::Message sent = Row(model::MessageKind::kSent, 0, rank[1], none, 8 + i);
      model::Message received = Row(model::MessageKind::kReceived, 1, rank[0], none, 8 + i);
      // The receive is begun five rounds before it is waited for.
      received.post_ns = t0_ns - 5 * kRoundNs;
      received.wait_ns = t0_ns;
      received.t_ns = t0_ns + 70'000;
      sent.post_ns = sent.wait_ns = t0_ns + 60'000;
      sent.t_ns = t0_ns + 62'000;
      messages.push_back(sent);
      messages.push_back(received);
    }
  }
  /// Rounds come in order of time, as far as this goes.
  Status ReadTableWithin(model::Table table, model::TimeRange range,
                         const std::function<bool(const model::Batch&)>& visit) override {
    if (table != model::Message::kTable) return ReadTable(table, visit);
    const auto before = [](const model::Message& row, int64_t t_ns) { return row.t_ns < t_ns; };
    const int64_t t0_ns = std::max(range.t0_ns, int64_t{0}), t1_ns = std::min(range.t1_ns, 2 * extent.t1_ns + kRoundNs);
    auto from = std::lower_bound(messages.begin(), messages.end(), t0_ns - kRoundNs, before);
    const auto end = std::lower_bound(from, messages.end(), t1_ns + kRoundNs, before);
    while (from < end) {
      const auto to = std::min(end, from + 4096);
      if (!visit(model::ToBatch(std::span<const model::Message>(from, to)))) break;
      from = to;
    }
    return {};
  }
  ElementId at = 0;
};

TEST(RankTimeline, TheIndexHasTheSameSumsAsTheCalls) {
  constexpr int64_t kRounds = 80'000;
  ManyRounds job(kRounds);
  RankTimeline timeline(job);
  const RankTimelineView all = View(timeline, job.extent, 100, job.rank);
  ASSERT_FALSE(all.is_single);
  EXPECT_EQ(all.rows, 2 * kRounds);
  auto sums = Sums(all.states);
  EXPECT_NEAR(double(sums[{job.rank[1], kLateSender}]), double(kRounds * 60'000), kRounds * 600.0);
  EXPECT_NEAR(double(sums[{job.rank[1], kMessages}]), double(kRounds * 10'000), kRounds * 600.0)
      << "without what is waiting";
  EXPECT_NEAR(double(sums[{job.rank[0], kMessages}]), double(kRounds * 2'000), kRounds * 100.0);
  // None of these messages took long enough to be shown among so many.
  EXPECT_LE(all.arrows.rows, RankTimeline::kMaxLongest);
}

TEST(RankTimeline, AnyPartOfManyMessagesHasThoseThatBelongTogether) {
  ManyRounds job(80'000);
  RankTimeline timeline(job);
  for (const int64_t round : {0, 12'345, 55'555, 79'980}) {
    const model::TimeRange range{round * ManyRounds::kRoundNs, (round + 10) * ManyRounds::kRoundNs};
    const RankTimelineView view = View(timeline, range, 100, job.rank);
    ASSERT_TRUE(view.is_single);
    // A pair has its own number of bytes: one of another round would not be taken for it.
    ASSERT_EQ(view.arrows.rows, 10u) << round;
    for (size_t i = 0; i < view.arrows.rows; ++i) {
      const int64_t of_round = view.arrows.ints[4][i] - 8;
      EXPECT_EQ(view.arrows.ints[0][i], of_round * ManyRounds::kRoundNs + 60'000);
      EXPECT_EQ(view.arrows.ints[3][i], of_round * ManyRounds::kRoundNs + 70'000);
    }
    EXPECT_EQ((Sums(view.calls)[{job.rank[1], kLateSender}]), 10 * 60'000);
  }
}

TEST(RankTimeline, WhileItGrowsWhatIsNewIsThereAtOnce) {
  ManyRounds job(80'000);
  const std::vector<model::Message> all = std::exchange(job.messages, {});
  const model::TimeRange whole = job.extent;
  job.growing = true;
  RankTimeline timeline(job);
  for (size_t part = 1; part <= 4; ++part) {
    job.messages.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(all.size() * part / 4));
    job.extent.t1_ns = whole.t1_ns * static_cast<int64_t>(part) / 4;
    const auto rounds = static_cast<double>(all.size() * part / 8);
    auto sums = Sums(View(timeline, whole, 100, job.rank).states);
    EXPECT_NEAR(double(sums[{job.rank[1], kLateSender}]), rounds * 60'000, rounds * 600) << part;
    EXPECT_NEAR(double(sums[{job.rank[1], kMessages}]), rounds * 10'000, rounds * 600) << part;
  }
  job.growing = false;
  auto sums = Sums(View(timeline, whole, 100, job.rank).states);
  EXPECT_NEAR(double(sums[{job.rank[1], kLateSender}]), 80'000.0 * 60'000, 80'000 * 600.0);
}

TEST(RankTimeline, OfManyMessagesThoseThatWereWaitedForLongestAreShown) {
  ManyRounds job(80'000);
  // Both come late by seconds, from a rank that does nothing else.
  job.AddRank(2);
  job.Send(2, 1, {job.at, 4000, 4001}, {job.at, 1000, 4002}, 99, 5);
  job.Send(2, 1, {job.at, 7000, 7001}, {job.at, 5000, 7002}, 99, 5);
  std::ranges::stable_sort(job.messages, {}, &model::Message::t_ns);
  RankTimeline timeline(job);
  const RankTimelineView all = View(timeline, job.extent, 100, job.rank);
  ASSERT_FALSE(all.is_single);
  ASSERT_EQ(all.arrows.rows, 2u);
  EXPECT_THAT(all.arrows.ints[8], testing::UnorderedElementsAre(3 * kSecond, 2 * kSecond));
}

TEST(RankTimeline, NothingWasSent) {
  JobSource job(2);
  RankTimeline timeline(job);
  const RankTimelineView view = View(timeline, {0, kSecond}, 100, job.rank);
  EXPECT_TRUE(view.is_single);
  EXPECT_THAT(view.calls.ints[0], IsEmpty());
  job.extent = {0, 0};
  RankTimeline empty(job);
  EXPECT_EQ(View(empty, {0, kSecond}, 100, job.rank).rows, 0);
}

TEST(RankTimeline, RowsThatCannotBeAreNoSpans) {
  JobSource job(2);
  model::Message row = job.Row(model::MessageKind::kReceived, 1, job.rank[0], {0, 100, 200}, 8);
  row.wait_ns = 300 * kMs;  // after its end
  job.messages.push_back(row);
  row.wait_ns = INT64_MIN + 1;
  row.post_ns = INT64_MIN;
  row.t_ns = INT64_MAX - 1;
  job.messages.push_back(row);
  row.kind = model::MessageKind::kSent;
  std::swap(row.rank, row.peer);
  job.messages.push_back(row);
  RankTimeline timeline(job);
  EXPECT_EQ(View(timeline, {0, kSecond}, 100, job.rank).calls.rows, 0u);
}

}  // namespace
}  // namespace attune::analysis::rank_timeline_test
