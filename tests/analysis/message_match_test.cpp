// Which send belongs to which receive, and who waited for whom.

#include "analysis/messages/message_match.h"

#include <gmock/gmock.h>

#include "analysis/messages/message_waits.h"
#include "message_source.h"

namespace attune::analysis::message_match_test {
namespace {

using model::Collective;
using model::Message;
using model::MessageKind;
using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

constexpr int64_t kMs = JobSource::kMs;

/// Pairs of the times of posting, in milliseconds.
struct Matches {
  std::vector<std::pair<int64_t, int64_t>> posted;
  MessageMatcher matcher{[this](const Message& sent, const Message& received) {
    posted.emplace_back(sent.post_ns / kMs, received.post_ns / kMs);
  }};
};

Message Sent(int64_t post_ms, int64_t end_ms, int64_t bytes = 8, int64_t tag = 0) {
  return {.t_ns = end_ms * kMs,
          .rank = 1,
          .kind = MessageKind::kSent,
          .communicator = 5,
          .peer = 2,
          .tag = tag,
          .bytes = bytes,
          .post_ns = post_ms * kMs};
}

Message Received(int64_t post_ms, int64_t end_ms, int64_t bytes = 8, int64_t tag = 0) {
  Message row = Sent(post_ms, end_ms, bytes, tag);
  row.kind = MessageKind::kReceived;
  std::swap(row.rank, row.peer);
  return row;
}

TEST(MessageMatch, GoesInOrderOfPostingNotOfCompletion) {
  Matches matches;
  matches.matcher.Add(Sent(20, 21));
  matches.matcher.Add(Sent(10, 90));
  matches.matcher.Add(Received(40, 41));
  matches.matcher.Add(Received(30, 95));
  matches.matcher.Finish();
  EXPECT_THAT(matches.posted, ElementsAre(Pair(10, 30), Pair(20, 40)));
  EXPECT_EQ(matches.matcher.UnmatchedSent() + matches.matcher.UnmatchedReceived(), 0);
}

TEST(MessageMatch, GoesByBytesWhereThereIsNoTag) {
  Matches matches;
  matches.matcher.Add(Sent(10, 11, 100, model::kAbsent));
  matches.matcher.Add(Sent(20, 21, 20, model::kAbsent));
  matches.matcher.Add(Received(30, 31, 60, model::kAbsent));
  matches.matcher.Add(Received(40, 41, 50, model::kAbsent));  // 40 of the first, 10 of the second
  matches.matcher.Add(Received(50, 51, 10, model::kAbsent));
  matches.matcher.Finish();
  EXPECT_THAT(matches.posted, ElementsAre(Pair(10, 30), Pair(10, 40), Pair(20, 50)));
  EXPECT_EQ(matches.matcher.UnmatchedSent() + matches.matcher.UnmatchedReceived(), 0);
}

TEST(MessageMatch, TellsTagsCommunicatorsAndRanksApart) {
  Matches matches;
  matches.matcher.Add(Sent(10, 11, 8, 7));
  matches.matcher.Add(Sent(20, 21, 8, 9));
  matches.matcher.Add(Received(30, 31, 8, 9));
  Message other = Received(40, 41, 8, 7);
  other.communicator = 6;
  matches.matcher.Add(other);
  Message of_other_rank = Received(50, 51, 8, 7);
  of_other_rank.peer = 3;
  matches.matcher.Add(of_other_rank);
  matches.matcher.Finish();
  EXPECT_THAT(matches.posted, ElementsAre(Pair(20, 30)));
  EXPECT_EQ(matches.matcher.UnmatchedSent(), 1);
  EXPECT_EQ(matches.matcher.UnmatchedReceived(), 2);
}

TEST(MessageMatch, GoesOnBehindWhatWasLost) {
  Matches matches;
  for (const int64_t at : {10, 20, 30}) matches.matcher.Add(Sent(at, at + 1, at));
  for (const int64_t at : {10, 30}) matches.matcher.Add(Received(at, at + 1, at));
  matches.matcher.Finish();
  EXPECT_THAT(matches.posted, ElementsAre(Pair(10, 10), Pair(30, 30))) << "the lengths tell that one is missing";
  EXPECT_EQ(matches.matcher.UnmatchedSent(), 1);

  Matches late;
  late.matcher.Add(Sent(50, 51));
  late.matcher.Add(Received(10, 11));
  late.matcher.Add(Received(52, 53));
  late.matcher.Finish();
  EXPECT_THAT(late.posted, ElementsAre(Pair(50, 52))) << "nothing is received before it is sent";
  EXPECT_EQ(late.matcher.UnmatchedReceived(), 1);
}

TEST(MessageMatch, TheBeginOfASmallSendMayBeAnEstimate) {
  Matches matches;
  Message sent = Sent(50, 51);
  sent.post_ns += 20'000;
  matches.matcher.Add(sent);
  matches.matcher.Add(Received(10, 50));
  Message large = Sent(60, 61, 1 << 20);
  large.post_ns += 20'000;
  matches.matcher.Add(large);
  matches.matcher.Add(Received(52, 60, 1 << 20));
  matches.matcher.Finish();
  EXPECT_THAT(matches.posted, ElementsAre(Pair(50, 10)));
  EXPECT_EQ(matches.matcher.UnmatchedReceived(), 1) << "that of a large one is measured";
}

TEST(MessageMatch, GivesWhatIsSettledBeforeTheEnd) {
  Matches matches;
  for (int64_t i = 0; i < 100; ++i) {
    matches.matcher.Add(Sent(i * 100, i * 100 + 1));
    matches.matcher.Add(Received(i * 100, i * 100 + 2));
  }
  EXPECT_GE(matches.posted.size(), 80u);
  EXPECT_LT(matches.posted.size(), 95u) << "of the last second, earlier ones may still come";
  matches.matcher.Finish();
  EXPECT_THAT(matches.posted, SizeIs(100));
}

TEST(MessageMatch, IsBounded) {
  Matches matches;
  const auto rows = static_cast<int64_t>(MessageMatcher::kMaxWaiting) + 10;
  for (int64_t i = 0; i < rows; ++i) {
    Message row = Sent(10, 11);
    row.tag = i;
    matches.matcher.Add(row);
  }
  EXPECT_GT(matches.matcher.UnmatchedSent(), 0) << "what nobody receives is given up";
  matches.matcher.Finish();
  EXPECT_EQ(matches.matcher.UnmatchedSent(), rows);
}

TEST(MessageMatch, WaitingIsForTheOtherSideToBegin) {
  Message sent = Sent(50, 51), received = Received(10, 60);
  EXPECT_EQ(LateSenderNs(sent, received), 0) << "nothing that blocked";
  received.wait_ns = 30 * kMs;
  EXPECT_EQ(LateSenderNs(sent, received), 20 * kMs) << "from when it began to wait";
  received.wait_ns = 55 * kMs;
  EXPECT_EQ(LateSenderNs(sent, received), 0);
  EXPECT_EQ(LateReceiverNs(sent, received), 0);

  sent = Sent(10, 60);
  received = Received(40, 61);
  sent.wait_ns = sent.post_ns;
  EXPECT_EQ(LateReceiverNs(sent, received), 30 * kMs);
  sent.t_ns = 12 * kMs;
  EXPECT_EQ(LateReceiverNs(sent, received), 0) << "the send was over long before: it was buffered";
}

TEST(MessageMatch, OfAChannelIsWaitedForContentOrRoom) {
  Message sent = Sent(50, 51, 100), received = Received(10, 52, 100);
  received.wait_ns = received.post_ns;
  EXPECT_EQ(LateSenderNs(sent, received, Carrier::kChannel), 42 * kMs) << "the whole call";
  received.wait_site = 7;  // of poll
  EXPECT_EQ(LateSenderNs(sent, received, Carrier::kChannel), 41 * kMs) << "until the sender was done";
  received.wait_ns = 51 * kMs;
  EXPECT_EQ(LateSenderNs(sent, received, Carrier::kChannel), 0) << "it was there";

  sent = Sent(10, 60, 1 << 20);
  sent.wait_ns = sent.post_ns;
  received = Received(70, 71, 1 << 20);
  EXPECT_EQ(LateReceiverNs(sent, received, Carrier::kChannel), 50 * kMs) << "until there was room";
  EXPECT_EQ(LateReceiverNs(sent, received), 0);
  received.post_ns = 5 * kMs;
  EXPECT_EQ(LateReceiverNs(sent, received, Carrier::kChannel), 0) << "who waits already has room";
  received.bytes = 1 << 12;
  EXPECT_EQ(LateReceiverNs(sent, received, Carrier::kChannel), 50 * kMs) << "but not for all of it";
  sent.t_ns = 12 * kMs;
  EXPECT_EQ(LateReceiverNs(sent, received, Carrier::kChannel), 0) << "it takes so long to copy";
}

// ---- collective operations

struct Groups {
  std::vector<std::vector<int64_t>> ranks;
  CollectiveMatcher matcher{[this](std::span<const Collective> parts) {
    std::vector<int64_t>& row = ranks.emplace_back();
    for (const Collective& part : parts) row.push_back(part.rank);
  }};
};

Collective Part(model::ElementId rank, int64_t sequence, int64_t post_ms = 0, int64_t end_ms = 100, int64_t size = 2) {
  return {.t_ns = end_ms * kMs,
          .thread = rank,
          .rank = rank,
          .communicator = 5,
          .sequence = sequence,
          .post_ns = post_ms * kMs,
          .wait_ns = post_ms * kMs,
          .communicator_rank = rank,
          .communicator_size = size};
}

TEST(CollectiveMatch, GathersTheParts) {
  Groups groups;
  groups.matcher.Add(Part(1, 1));
  groups.matcher.Add(Part(1, 2));
  groups.matcher.Add(Part(2, 1));
  EXPECT_THAT(groups.ranks, ElementsAre(ElementsAre(1, 2))) << "as soon as it is whole";
  groups.matcher.Add(Part(1, 3, 0, 100, 3));
  groups.matcher.Finish();
  EXPECT_THAT(groups.ranks, ElementsAre(ElementsAre(1, 2), ElementsAre(1), ElementsAre(1)));
  EXPECT_EQ(groups.matcher.Incomplete(), 2);
}

TEST(CollectiveMatch, ForeignRowsAreNoEndlessGroups) {
  Groups groups;
  for (int i = 0; i < 10; ++i) groups.matcher.Add(Part(1, 1));
  EXPECT_THAT(groups.ranks, SizeIs(9)) << "a rank takes part once";
  groups.matcher.Add(Part(1, 0));
  groups.matcher.Finish();
  EXPECT_THAT(groups.ranks, SizeIs(11));
}

/// Of a communicator between two groups: a number is of the rank's own group.
Collective PartBetween(model::ElementId rank, int64_t number, int64_t size, int64_t sequence, int64_t post_ms) {
  Collective part = Part(rank, sequence, post_ms, 100, size);
  part.communicator_rank = number;
  return part;
}

TEST(CollectiveMatch, KeepsTheTwoGroupsOfACommunicatorTogether) {
  for (const int64_t other_size : {2, 1}) {  // told apart by their numbers, or by their sizes
    Groups groups;
    for (int64_t sequence = 1; sequence <= 3; ++sequence) {
      groups.matcher.Add(PartBetween(1, 0, 2, sequence, 0));
      groups.matcher.Add(PartBetween(11, 0, other_size, sequence, 0));
      groups.matcher.Add(PartBetween(2, 1, 2, sequence, 0));
      if (other_size == 2) groups.matcher.Add(PartBetween(12, 1, 2, sequence, 0));
    }
    EXPECT_THAT(groups.ranks, SizeIs(3)) << "as soon as they are whole";
    for (const auto& ranks : groups.ranks) EXPECT_EQ(ranks.size(), static_cast<size_t>(2 + other_size));
    groups.matcher.Finish();
    EXPECT_EQ(groups.matcher.Incomplete(), 0);
  }
}

TEST(CollectiveMatch, KnowsNoWaitsBetweenGroups) {
  const std::vector<Collective> same{PartBetween(1, 0, 1, 1, 10), PartBetween(11, 0, 1, 1, 50)};
  const std::vector<Collective> different{PartBetween(1, 0, 1, 1, 10), PartBetween(12, 1, 2, 1, 50)};
  for (const auto& parts : {same, different}) {
    for (const RankWait& wait : WaitsAtCollective(parts, CollectivePattern::kAll)) EXPECT_EQ(wait.LengthNs(), 0);
  }
}

TEST(CollectiveMatch, ManyRanksTakeNoLonger) {
  constexpr int64_t kRanks = CollectiveMatcher::kMaxWaiting;  // each with each would take longer than a test may
  std::vector<Collective> parts;
  CollectiveMatcher matcher([&](std::span<const Collective> whole) { parts.assign(whole.begin(), whole.end()); });
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    Collective part = Part(static_cast<model::ElementId>(rank + 1), 1, kRanks - rank, kRanks + 1, kRanks);
    part.communicator_rank = rank;
    part.root = rank;  // no root of one operation: a file may say so
    matcher.Add(part);
  }
  ASSERT_THAT(parts, SizeIs(kRanks));
  for (const auto pattern : {CollectivePattern::kFromRoot, CollectivePattern::kToRoot, CollectivePattern::kPrefix})
    EXPECT_THAT(WaitsAtCollective(parts, pattern), SizeIs(kRanks));
  EXPECT_EQ(WaitsAtCollective(parts, CollectivePattern::kToRoot).back().LengthNs(), (kRanks - 1) * kMs);
}

TEST(CollectiveMatch, KnowsWhoWaitsForWhom) {
  EXPECT_EQ(PatternOf("MPI_Barrier"), CollectivePattern::kAll);
  EXPECT_EQ(PatternOf("MPI_Iallreduce"), CollectivePattern::kAll);
  EXPECT_EQ(PatternOf("MPI_Bcast"), CollectivePattern::kFromRoot);
  EXPECT_EQ(PatternOf("MPI_Iscatterv"), CollectivePattern::kFromRoot);
  EXPECT_EQ(PatternOf("MPI_Reduce"), CollectivePattern::kToRoot);
  EXPECT_EQ(PatternOf("MPI_Reduce_scatter"), CollectivePattern::kAll);
  EXPECT_EQ(PatternOf("MPI_Exscan"), CollectivePattern::kPrefix);
  EXPECT_EQ(PatternOf("MPI_Neighbor_alltoall"), CollectivePattern::kNeighbours);

  const auto lengths = [](const std::vector<Collective>& parts, CollectivePattern pattern) {
    std::vector<int64_t> ms;
    for (const RankWait& wait : WaitsAtCollective(parts, pattern)) ms.push_back(wait.LengthNs() / kMs);
    return ms;
  };
  std::vector<Collective> parts{Part(0, 1, 10), Part(1, 1, 40), Part(2, 1, 30)};
  EXPECT_THAT(lengths(parts, CollectivePattern::kAll), ElementsAre(30, 0, 10));
  for (Collective& part : parts) part.root = 1;
  EXPECT_THAT(lengths(parts, CollectivePattern::kFromRoot), ElementsAre(30, 0, 10));
  for (Collective& part : parts) part.root = 0;
  EXPECT_THAT(lengths(parts, CollectivePattern::kFromRoot), ElementsAre(0, 0, 0)) << "the root was there first";
  EXPECT_THAT(lengths(parts, CollectivePattern::kToRoot), ElementsAre(30, 0, 0));
  EXPECT_THAT(lengths(parts, CollectivePattern::kPrefix), ElementsAre(0, 0, 10));
  EXPECT_THAT(lengths(parts, CollectivePattern::kNeighbours), ElementsAre(0, 0, 0));
  parts[0].wait_ns = model::kAbsent;
  EXPECT_THAT(lengths(parts, CollectivePattern::kAll), ElementsAre(0, 0, 10)) << "it never blocked";
  parts[2].t_ns = 32 * kMs;
  EXPECT_THAT(lengths(parts, CollectivePattern::kAll), ElementsAre(0, 0, 2)) << "no longer than it was there";
}

// ---- causes

TEST(MessageWaits, PutsDownAWaitToWhomTheLateOneWaitedFor) {
  // 2 computes until 100; 1 waits for it from 10 on, and computes until 120 itself; 0 waits for 1 from 20 on.
  JobSource job(3);
  const model::ElementId slow = job.Site("slow", 10), middle = job.Site("middle", 20), end = job.Site("end", 30);
  const SiteNames names(job.meta, {});
  MessageWaits waits(names);
  const auto add = [&](size_t from, size_t to, JobSource::Call sent, JobSource::Call received) {
    waits.Add(job.Row(MessageKind::kSent, from, job.rank[to], sent, 8),
              job.Row(MessageKind::kReceived, to, job.rank[from], received, 8));
  };
  add(1, 0, {middle, 120, 121}, {end, 20, 121});
  add(2, 1, {slow, 100, 101}, {middle, 10, 101});
  waits.Finish();
  const MessageWaitSums& of_slow = waits.ByCause().at({MessageWaitKind::kLateSender, slow});
  EXPECT_EQ(of_slow.wait_ns, (90 + 80) * kMs);
  EXPECT_EQ(of_slow.indirect_ns, 80 * kMs);
  EXPECT_THAT(of_slow.by_thread, ElementsAre(Pair(job.thread[0], 80 * kMs), Pair(job.thread[1], 90 * kMs)));
  EXPECT_EQ(of_slow.caused_by.at(job.thread[2]).caused_ns, 170 * kMs);
  const MessageWaitSums& of_middle = waits.ByCause().at({MessageWaitKind::kLateSender, middle});
  EXPECT_EQ(of_middle.wait_ns, 20 * kMs);
  EXPECT_EQ(of_middle.indirect_ns, 0);
}

TEST(MessageWaits, ACallThatWaitsForSeveralWaitsOnceForTheLatest) {
  JobSource job(3);
  const model::ElementId early = job.Site("early", 10), late = job.Site("late", 20), end = job.Site("end", 30);
  const SiteNames names(job.meta, {});
  MessageWaits waits(names);
  const auto add = [&](size_t from, JobSource::Call sent) {
    waits.Add(job.Row(MessageKind::kSent, from, job.rank[0], sent, 8),
              job.Row(MessageKind::kReceived, 0, job.rank[from], {end, 10, 101}, 8));
  };
  add(2, {late, 100, 101});
  add(1, {early, 40, 41});
  waits.Finish();
  EXPECT_THAT(waits.ByCause(), SizeIs(1));
  EXPECT_EQ(waits.ByCause().at({MessageWaitKind::kLateSender, late}).wait_ns, 90 * kMs);
}

TEST(MessageWaits, APlaceIsTheSameForAllRanks) {
  JobSource job(3);
  const model::ElementId end = job.Site("end", 30);
  const model::ElementId sends[] = {job.Site("solver", 10), job.Site("solver", 10)};  // each rank has sites of its own
  ASSERT_NE(sends[0], sends[1]);
  const SiteNames names(job.meta, {});
  MessageWaits waits(names);
  for (size_t from = 1; from <= 2; ++from) {
    const auto t = static_cast<int64_t>(200 * from);
    waits.Add(job.Row(MessageKind::kSent, from, job.rank[0], {sends[from - 1], t, t + 1}, 8),
              job.Row(MessageKind::kReceived, 0, job.rank[from], {end, t - 90, t + 1}, 8));
  }
  waits.Finish();
  ASSERT_THAT(waits.ByCause(), SizeIs(1));
  const MessageWaitSums& sums = waits.ByCause().at({MessageWaitKind::kLateSender, sends[0]});
  EXPECT_EQ(sums.wait_ns, 2 * 90 * kMs);
  EXPECT_THAT(sums.caused_by, SizeIs(2));
}

}  // namespace
}  // namespace attune::analysis::message_match_test
