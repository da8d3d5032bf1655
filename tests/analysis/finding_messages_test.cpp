// What ranks lose, from messages that were written down here, and where nothing is claimed.

#include <gmock/gmock.h>

#include "analysis/findings/finding.h"
#include "analysis/findings/judgement.h"
#include "message_source.h"

namespace attune::analysis::finding_messages_test {
namespace {

using model::ElementKind;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kMs = JobSource::kMs;

std::vector<Finding> FindingsOf(JobSource& job) {
  const auto judged = JudgeProgram(job);
  EXPECT_TRUE(judged.ok());
  return judged.ok() ? judged->findings : std::vector<Finding>{};
}

TEST(MessageFindings, ALateSenderIsNamedWhereItSends) {
  JobSource job(2);
  const model::ElementId out = job.Site("Produce", 10), in = job.Site("Consume", 20);
  for (int64_t i = 0; i < 100; ++i)  // 50 ms each, of 100
    job.Send(0, 1, {out, i * 100 + 60, i * 100 + 61}, {in, i * 100 + 10, i * 100 + 61});
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLateSender);
  EXPECT_EQ(findings[0].lost_ns, 5000 * kMs);
  EXPECT_EQ(findings[0].site.line, 10);
  EXPECT_EQ(findings[0].object_name, "MPI_Send");
  ASSERT_THAT(findings[0].caused_by, SizeIs(1));
  EXPECT_EQ(findings[0].caused_by[0].name, "rank 0");
  ASSERT_THAT(findings[0].threads, SizeIs(1));
  EXPECT_EQ(findings[0].threads[0].name, "rank 1");
  ASSERT_THAT(findings[0].waiters, SizeIs(1));
  EXPECT_EQ(findings[0].waiters[0].line, 20);
  EXPECT_THAT(findings[0].share, DoubleNear(0.25, 0.001));
  ASSERT_GE(findings[0].evidence.size(), 2u);
  EXPECT_EQ(findings[0].evidence[0],
            "rank 1 waited 100 times, 50 ms on average, for messages that were not sent yet, received by MPI_Recv");
  EXPECT_THAT(findings[0].evidence[1], HasSubstr("100 % of the waiting is for rank 0, until it came to Produce"));
}

TEST(MessageFindings, WhatMadeARankLateIsNamed) {
  JobSource job(2);
  const model::ElementId out = job.Site("Produce", 10), in = job.Site("Consume", 20);
  const model::ElementId late = job.Site("Relax", 40), before = job.Site("Prepare", 50);
  for (int64_t i = 0; i < 100; ++i) {
    job.Send(0, 1, {out, i * 100 + 60, i * 100 + 61}, {in, i * 100 + 10, i * 100 + 61});
    job.cpu_samples.push_back({(i * 100 + 5) * kMs, job.thread[0], 0, before, 0, 4 * kMs});
    job.cpu_samples.push_back({(i * 100 + 30) * kMs, job.thread[0], 0, late, 0, 4 * kMs});
    job.cpu_samples.push_back({(i * 100 + 30) * kMs, job.thread[1], 0, before, 0, 4 * kMs});
  }
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].site.line, 10);
  ASSERT_THAT(findings[0].places, SizeIs(1)) << "what it did before nobody waited for";
  EXPECT_EQ(findings[0].places[0].line, 40);
  EXPECT_THAT(findings[0].evidence[2], HasSubstr("meanwhile it computed for 400 ms, 100 % of that at Relax"));
}

TEST(MessageFindings, ALateReceiverIsNamedWhereItReceives) {
  JobSource job(2);
  const model::ElementId out = job.Site("Produce", 10), in = job.Site("Consume", 20);
  for (int64_t i = 0; i < 100; ++i)
    job.Send(0, 1, {out, i * 100 + 10, i * 100 + 61}, {in, i * 100 + 60, i * 100 + 62}, 1 << 20);
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLateReceiver);
  EXPECT_EQ(findings[0].lost_ns, 5000 * kMs);
  EXPECT_EQ(findings[0].site.line, 20);
}

TEST(MessageFindings, ACallThatSendsAndReceivesWaitsForTheData) {
  JobSource job(2);
  const model::ElementId early = job.Site("Step", 10), late = job.Site("Step", 11);
  for (int64_t i = 0; i < 100; ++i) {  // MPI_Sendrecv on both sides
    job.Send(0, 1, {early, i * 100 + 10, i * 100 + 61}, {late, i * 100 + 60, i * 100 + 62}, 1 << 20);
    job.Send(1, 0, {late, i * 100 + 60, i * 100 + 62}, {early, i * 100 + 10, i * 100 + 61}, 1 << 20);
  }
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kLateSender);
  EXPECT_EQ(findings[0].lost_ns, 5000 * kMs);
}

TEST(MessageFindings, ARankThatIsLateToACollectiveIsNamed) {
  JobSource job(4);
  const model::ElementId reduce = job.Function("MPI_Allreduce");
  const model::ElementId site = job.Site("Step", 30);
  for (int64_t i = 0; i < 100; ++i) {
    for (size_t who = 0; who < 4; ++who) {
      const int64_t begin_ms = i * 100 + (who == 2 ? 60 : 20);
      job.Meet(reduce, i + 1, who, {site, begin_ms, i * 100 + 61});
    }
  }
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kWaitAtCollective);
  EXPECT_EQ(findings[0].lost_ns, 3 * 4000 * kMs);
  EXPECT_EQ(findings[0].thread_count, 3);
  EXPECT_EQ(findings[0].caused_by[0].name, "rank 2");
  EXPECT_THAT(findings[0].figures.at("late_rank_part"), DoubleNear(1, 1e-9));
  EXPECT_THAT(findings[0].advice, HasSubstr("late rank less to do"));
}

TEST(MessageFindings, WhenNoRankIsAlwaysLateTheAdviceIsAnother) {
  JobSource job(4);
  const model::ElementId barrier = job.Function("MPI_Barrier");
  const model::ElementId site = job.Site("Step", 30);
  for (int64_t i = 0; i < 100; ++i) {
    for (size_t who = 0; who < 4; ++who) {
      const bool is_late = who == static_cast<size_t>(i % 4);
      job.Meet(barrier, i + 1, who, {site, i * 100 + (is_late ? 60 : 20), i * 100 + 61});
    }
  }
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].advice, HasSubstr("No rank is late more than the others"));
}

// Rank 2 needs nothing of rank 1 until all meet; rank 0 waits for each of its messages.
TEST(MessageFindings, WhoIsLateWithMessagesFirstIsLateToACollectiveTherefore) {
  JobSource job(3);
  const model::ElementId sends = job.Site("SendPacked", 10), receives = job.Site("ReceiveBoth", 20);
  const model::ElementId meets = job.Site("Main", 30);
  for (int64_t i = 0; i < 80; ++i)
    job.Send(1, 0, {sends, i * 100 + 90, i * 100 + 90}, {receives, i * 100 + 10, i * 100 + 90}, 1000, i);
  const model::ElementId broadcast = job.Function("MPI_Bcast");
  for (size_t who = 0; who < 3; ++who)
    job.Meet(broadcast, 1, who, {meets, who == 2 ? 1000 : who == 1 ? 8000 : 7991, 8000}, 1);
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].kind, FindingClass::kLateSender);
  EXPECT_EQ(findings[0].site.function, "SendPacked");
  EXPECT_EQ(findings[1].kind, FindingClass::kWaitAtCollective);
  EXPECT_THAT(findings[1].figures.at("late_before_seconds"), DoubleNear(70 * 0.08, 1e-3));
  EXPECT_LE(findings[1].gain_ns, 1500 * kMs);
}

TEST(MessageFindings, ALittleWaitingIsNone) {
  JobSource job(2);
  const model::ElementId out = job.Site("Exchange", 10);
  for (int64_t i = 0; i < 100; ++i) {  // 4 ms of 100 in turn
    job.Send(0, 1, {out, i * 100 + 10, i * 100 + 11}, {out, i * 100 + (i % 2 == 0 ? 6 : 10), i * 100 + 11});
    job.Send(1, 0, {out, i * 100 + 20, i * 100 + 21}, {out, i * 100 + (i % 2 == 0 ? 20 : 16), i * 100 + 21});
  }
  EXPECT_THAT(FindingsOf(job), IsEmpty());
}

TEST(MessageFindings, WhoFoundNoCpuIsNotToBlame) {
  JobSource job(2);
  const model::ElementId out = job.Site("Produce", 10), in = job.Site("Consume", 20);
  for (int64_t i = 0; i < 100; ++i) job.Send(0, 1, {out, i * 100 + 60, i * 100 + 61}, {in, i * 100 + 10, i * 100 + 61});
  const auto stream =
      job.AddStream(0, {{job.thread[0], "thread", "run", "ns"}, {job.thread[0], "thread", "wait", "ns"}});
  job.samples[stream] = {{0, {0, 0}}, {JobSource::kLifeNs - 1, {4000 * kMs, 5000 * kMs}}};
  const auto judged = JudgeProgram(job);
  ASSERT_TRUE(judged.ok());
  for (const Finding& finding : judged->findings) EXPECT_NE(finding.kind, FindingClass::kLateSender);
}

TEST(MessageFindings, ManySmallMessagesAddUp) {
  JobSource job(2);
  const model::ElementId out = job.Site("Scatter", 10), in = job.Site("Gather", 20);
  for (int64_t i = 0; i < 20'000; ++i) {
    model::Message sent = job.Row(model::MessageKind::kSent, 0, job.rank[1], {out, 0, 0}, 8);
    model::Message received = job.Row(model::MessageKind::kReceived, 1, job.rank[0], {in, 0, 0}, 8);
    const int64_t begin_ns = i * 100'000;
    sent.post_ns = sent.wait_ns = received.post_ns = received.wait_ns = begin_ns;
    sent.t_ns = received.t_ns = begin_ns + 40'000;
    job.messages.push_back(sent);
    job.messages.push_back(received);
  }
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kSmallMessages);
  EXPECT_EQ(findings[0].lost_ns, 2 * 20'000 * 40'000LL);
  EXPECT_EQ(findings[0].site.line, 10);
  EXPECT_EQ(findings[0].evidence[0],
            "20000 messages of 8 bytes on average were sent; to send and receive one took 80 us of calls");
}

/// The ring had no room for most of them: their calls were counted.
TEST(MessageFindings, SmallMessagesAreCountedWhereTheirEventsWereLost) {
  JobSource job(2);
  const model::ElementId out = job.Site("Scatter", 10), in = job.Site("Gather", 20);
  for (int64_t i = 0; i < 500; ++i) {
    model::Message sent = job.Row(model::MessageKind::kSent, 0, job.rank[1], {out, 0, 0}, 8);
    model::Message received = job.Row(model::MessageKind::kReceived, 1, job.rank[0], {in, 0, 0}, 8);
    sent.post_ns = sent.wait_ns = received.post_ns = received.wait_ns = i * 4'000'000;
    sent.t_ns = received.t_ns = i * 4'000'000 + 40'000;
    job.messages.push_back(sent);
    job.messages.push_back(received);
  }
  constexpr int64_t kCalls = 20'000;
  job.sync.push_back({0, job.thread[0], job.send, out, wire::SyncKind::kMpi, kCalls, 0, kCalls * 40'000, 0, 0});
  job.sync.push_back({0, job.thread[1], job.recv, in, wire::SyncKind::kMpi, kCalls, 0, kCalls * 40'000, 0, 0});
  EXPECT_THAT(FindingsOf(job), IsEmpty()) << "where nothing was lost, what was seen counts";
  job.meta.gaps.push_back({.count = 39'000, .reason = model::GapReason::kDropped});
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kSmallMessages);
  EXPECT_EQ(findings[0].figures.at("messages"), kCalls);
  EXPECT_EQ(findings[0].lost_ns, 2 * kCalls * 40'000);
}

/// Four ranks on two nodes; 0 and 2 talk, and 1 and 3. @param near also a little within a node
struct TwoNodes : JobSource {
  explicit TwoNodes(bool near) : JobSource(4) {
    for (int64_t node = 0; node < 2; ++node) {
      const model::ElementId of_node = AddElement(ElementKind::kNode, "node" + std::to_string(node), machine, node);
      for (int64_t cpu = 2 * node; cpu < 2 * node + 2; ++cpu)
        AddElement(ElementKind::kCpu, "cpu" + std::to_string(cpu), of_node, cpu);
    }
    const model::ElementId site = Site("Exchange", 10);
    for (int64_t i = 0; i < 100; ++i) {
      Send(0, 2, {site, i * 100 + 10, i * 100 + 30}, {site, i * 100 + 10, i * 100 + 30}, 1 << 20);
      Send(1, 3, {site, i * 100 + 10, i * 100 + 30}, {site, i * 100 + 10, i * 100 + 30}, 1 << 20);
      if (near) Send(0, 1, {site, i * 100 + 40, i * 100 + 41}, {site, i * 100 + 40, i * 100 + 41}, 1 << 20);
    }
  }
};

TEST(MessageFindings, RanksThatTalkMuchBelongTogether) {
  TwoNodes job(true);
  const std::vector<Finding> findings = FindingsOf(job);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind, FindingClass::kRankPlacement);
  // Two of three MiB each time are far; one exchange brings both together, and 0 and 1 apart.
  EXPECT_THAT(static_cast<double>(findings[0].lost_ns), DoubleNear(100 * (40 - 2) * 1e6, 100 * 1e6));
  EXPECT_EQ(findings[0].confidence, Confidence::kMedium);
  EXPECT_THAT(findings[0].evidence[0], HasSubstr("went between nodes, 50 % of it"));

  TwoNodes unknown(false);
  const std::vector<Finding> low = FindingsOf(unknown);
  ASSERT_THAT(low, SizeIs(1));
  EXPECT_EQ(low[0].confidence, Confidence::kLow) << "how fast they would be nobody saw";
}

TEST(MessageFindings, WithOneNodeThereIsNoBetterPlace) {
  TwoNodes job(true);
  for (model::Element& element : job.meta.elements) {
    if (element.kind == ElementKind::kNode) element.kind = ElementKind::kBoard;
  }
  EXPECT_THAT(FindingsOf(job), IsEmpty());
}

}  // namespace
}  // namespace attune::analysis::finding_messages_test
