// Processes that wait for each other through pipes and sockets, and those that only seem to.

#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/findings/finding.h"
#include "analysis/findings/judgement.h"
#include "fake_source.h"

namespace attune::analysis::finding_peers_test {
namespace {

using model::ElementId;
using model::ElementKind;
using model::MessageKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kLifeMs = 1000;

/// Processes of one thread each, the first of which started the others, and channels between them.
struct PipeSource : FakeSource {
  struct Process {
    ElementId id = 0;
    ElementId thread = 0;
  };
  struct Call {
    ElementId site = 0;
    int64_t begin_ms = 0;
    int64_t end_ms = 0;
  };

  PipeSource() {
    extent = {0, kLifeMs * kMs};
    meta.info["cpus_allowed"] = "0-1";
    machine = AddElement(ElementKind::kMachine, "host");
    channel = AddElement(ElementKind::kChannel, "pipe 7", machine);
    read = AddElement(ElementKind::kFunction, "read", machine);
    write = AddElement(ElementKind::kFunction, "write", machine);
  }
  Process AddProcess(const std::string& name, int64_t pid, int64_t run_ms, ElementId parent = 0,
                     int64_t queued_ms = 0) {
    Process made{.id = AddElement(ElementKind::kProcess, name, machine, pid)};
    meta.processes.push_back(
        {.id = made.id, .parent = parent, .pid = pid, .start_ns = 0, .end_ns = kLifeMs * kMs, .command = name});
    made.thread = AddElement(ElementKind::kThread, "", made.id, pid);
    meta.elements.back().start_ns = 0;
    meta.elements.back().end_ns = kLifeMs * kMs;
    const auto stream = AddStream(0, {{made.thread, "thread", "run", "ns"}, {made.thread, "thread", "wait", "ns"}});
    samples[stream] = {{0, {0, 0}}, {kLifeMs * kMs - 1, {run_ms * kMs, queued_ms * kMs}}};
    return made;
  }
  ElementId Site(const std::string& function, int64_t line) {
    const ElementId id = AddElement(ElementKind::kSite, "program+" + function, machine);
    meta.sites.push_back({.id = id, .line = line, .function = function, .file = "program.c", .module = "/bin/program"});
    return id;
  }
  model::Message Row(MessageKind kind, const Process& who, const Process& peer, const Call& call) const {
    return {.t_ns = call.end_ms * kMs,
            .thread = who.thread,
            .rank = who.id,
            .kind = kind,
            .function = kind == MessageKind::kSent ? write : read,
            .communicator = channel,
            .peer = peer.id,
            .tag = model::kAbsent,
            .bytes = 100,
            .site = call.site,
            .post_ns = call.begin_ms * kMs,
            .wait_ns = call.begin_ms * kMs,
            .wait_site = call.site};
  }
  void Send(const Process& from, const Process& to, const Call& sent, const Call& received) {
    messages.push_back(Row(MessageKind::kSent, from, to, sent));
    messages.push_back(Row(MessageKind::kReceived, to, from, received));
  }
  std::vector<Finding> Findings() {
    const auto judged = JudgeProgram(*this);
    EXPECT_TRUE(judged.ok());
    return judged.ok() ? judged->findings : std::vector<Finding>{};
  }

  ElementId machine = 0, channel = 0, read = 0, write = 0;
};

TEST(TaskGraph, OfAPipeCountsWhatIsWrittenAndNotHowOftenItIsRead) {
  PipeSource source;
  const auto reader = source.AddProcess("reader", 100, 50);
  const auto writer = source.AddProcess("writer", 101, 50, reader.id);
  source.messages = {source.Row(MessageKind::kSent, writer, reader, {.begin_ms = 1, .end_ms = 2}),
                     source.Row(MessageKind::kReceived, reader, writer, {.begin_ms = 1, .end_ms = 3}),
                     source.Row(MessageKind::kReceived, reader, writer, {.begin_ms = 4, .end_ms = 5})};
  const auto graph = BuildTaskGraph(source);
  ASSERT_TRUE(graph.ok());
  ASSERT_THAT(graph->pairs, SizeIs(1));
  EXPECT_TRUE(graph->pairs[0].is_channel);
  EXPECT_EQ(graph->pairs[0].Count(), 1);
  EXPECT_EQ(graph->pairs[0].receiver.count, 2);
}

TEST(PeerFindings, WhoMakesRecordsSlowlyIsNamed) {
  PipeSource source;
  const auto reader = source.AddProcess("reader", 100, 50);
  const auto maker = source.AddProcess("maker", 101, 900, reader.id);
  const ElementId out = source.Site("make_records", 10), in = source.Site("next_record", 20);
  for (int64_t i = 0; i < 50; ++i)
    source.Send(maker, reader, {out, i * 20 + 18, i * 20 + 18}, {in, i * 20 + 2, i * 20 + 18});
  const std::vector<Finding> findings = source.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind.name, "slow-peer");
  EXPECT_EQ(findings[0].lost_ns, 50 * 16 * kMs);
  EXPECT_EQ(findings[0].site.line, 10);
  ASSERT_THAT(findings[0].waiters, SizeIs(1));
  EXPECT_EQ(findings[0].waiters[0].line, 20);
  ASSERT_THAT(findings[0].caused_by, SizeIs(1));
  EXPECT_EQ(findings[0].caused_by[0].pid, 101);
  EXPECT_EQ(findings[0].object_name, "process maker (101)");
  ASSERT_THAT(findings[0].evidence, SizeIs(1));
  EXPECT_THAT(findings[0].evidence[0], HasSubstr("reader (100) waited 50 times, 16 ms on average, for what comes from "
                                                 "maker (101), in read at next_record"));
}

TEST(PeerFindings, AFullPipeIsPutDownToWhoReads) {
  PipeSource source;
  const auto writer = source.AddProcess("writer", 100, 50);
  const auto packer = source.AddProcess("packer", 101, 900, writer.id);
  const ElementId out = source.Site("send_block", 10), in = source.Site("compress", 20);
  for (int64_t i = 0; i < 50; ++i)  // what was written is read later
    source.Send(writer, packer, {out, i * 20 + 2, i * 20 + 18}, {in, i * 20 + 36, i * 20 + 36});
  const std::vector<Finding> findings = source.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].kind.name, "slow-peer");
  EXPECT_EQ(findings[0].lost_ns, 50 * 16 * kMs);
  EXPECT_EQ(findings[0].site.line, 20);
  EXPECT_EQ(findings[0].waiters[0].line, 10);
}

/// A server that waits for a client which has nothing to ask.
TEST(PeerFindings, WhoHasNothingToSendIsNotSlow) {
  PipeSource source;
  const auto client = source.AddProcess("client", 100, 20);
  const auto server = source.AddProcess("server", 101, 20, client.id);
  const ElementId ask = source.Site("ask", 10), serve = source.Site("serve", 20);
  for (int64_t i = 0; i < 15; ++i) {
    source.Send(client, server, {ask, i * 60 + 59, i * 60 + 59}, {serve, i * 60, i * 60 + 59});
    source.Send(server, client, {serve, i * 60 + 60, i * 60 + 60}, {ask, i * 60 + 59, i * 60 + 60});
  }
  EXPECT_THAT(source.Findings(), IsEmpty());
}

/// It does nothing, for a device say, but was asked.
TEST(PeerFindings, WhoAnswersLateIsSlowWhateverItDoes) {
  PipeSource source;
  const auto client = source.AddProcess("client", 100, 50);
  const auto server = source.AddProcess("server", 101, 20, client.id);
  const ElementId ask = source.Site("ask", 10), serve = source.Site("serve", 20);
  for (int64_t i = 0; i < 50; ++i) {
    source.Send(client, server, {ask, i * 20 + 1, i * 20 + 1}, {serve, i * 20 + 1, i * 20 + 1});
    source.Send(server, client, {serve, i * 20 + 19, i * 20 + 19}, {ask, i * 20 + 1, i * 20 + 19});
  }
  const std::vector<Finding> findings = source.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].lost_ns, 50 * 18 * kMs);
  EXPECT_EQ(findings[0].caused_by[0].pid, 101);
}

/// The program computes, and a process that it started writes down what it says.
TEST(PeerFindings, ALoggerWaitsForWhatComes) {
  PipeSource source;
  const auto program = source.AddProcess("program", 100, 950);
  const auto logger = source.AddProcess("logger", 101, 30, program.id);
  const ElementId out = source.Site("say", 10), in = source.Site("write_down", 20);
  for (int64_t i = 0; i < 50; ++i)
    source.Send(program, logger, {out, i * 20 + 18, i * 20 + 18}, {in, i * 20, i * 20 + 18});
  EXPECT_THAT(source.Findings(), IsEmpty());
}

TEST(PeerFindings, WhereAllCpusComputeOrAreWantedNobodyIsSlow) {
  for (const int64_t queued_ms : {0, 400}) {  // while other programs have them
    PipeSource source;
    const auto reader = source.AddProcess("reader", 100, 800 - queued_ms, 0, queued_ms);
    const auto maker = source.AddProcess("maker", 101, 950 - queued_ms, reader.id, queued_ms);
    const ElementId out = source.Site("make", 10), in = source.Site("take", 20);
    for (int64_t i = 0; i < 50; ++i)
      source.Send(maker, reader, {out, i * 20 + 18, i * 20 + 18}, {in, i * 20 + 14, i * 20 + 18});
    for (const Finding& finding : source.Findings()) EXPECT_NE(finding.kind.name, "slow-peer") << queued_ms;
  }
}

/// A front end that waits in epoll_wait, of which the kernel's account says who ended it.
TEST(PeerFindings, WhoIsWaitedForInPollIsKnownByTheKernel) {
  PipeSource source;
  const auto front = source.AddProcess("front", 100, 50);
  const auto back = source.AddProcess("back", 101, 900, front.id);
  const ElementId ask = source.Site("ask", 10), answer = source.Site("answer", 20), await = source.Site("await", 30);
  for (int64_t i = 0; i < 50; ++i) {
    source.Send(front, back, {ask, i * 20 + 1, i * 20 + 1}, {answer, i * 20, i * 20 + 1});
    source.Send(back, front, {answer, i * 20 + 19, i * 20 + 19}, {ask, i * 20 + 19, i * 20 + 19});
  }
  const auto slept = [&](int64_t ms, ElementId waker) {
    source.state_times.push_back({.t_ns = kLifeMs * kMs,
                                  .element = front.thread,
                                  .state = model::TimeState::kPoll,
                                  .waker = waker,
                                  .ns = ms * kMs,
                                  .count = 50});
  };
  slept(880, back.thread);
  const ElementId polls = source.AddElement(ElementKind::kLock, "polls", front.id);
  source.sync.push_back({kLifeMs * kMs, front.thread, polls, await, wire::SyncKind::kPoll, 50, 0, 900 * kMs, 0, 0});
  const auto is_slow_peer = [](const Finding& finding) { return finding.kind.name == "slow-peer"; };
  std::vector<Finding> findings = source.Findings();
  auto found = std::ranges::find_if(findings, is_slow_peer);
  ASSERT_NE(found, findings.end());
  EXPECT_NEAR(static_cast<double>(found->lost_ns), 900.0 * kMs, 1e3) << "the calls are a little longer than the sleep";
  EXPECT_EQ(found->site.line, 20);
  ASSERT_THAT(found->waiters, SizeIs(1));
  EXPECT_EQ(found->waiters[0].line, 30);

  source.state_times.clear();
  slept(880, 0);  // a timer
  findings = source.Findings();
  EXPECT_EQ(std::ranges::find_if(findings, is_slow_peer), findings.end());
}

TEST(PeerFindings, OneResultAtTheEndIsNoStream) {
  PipeSource source;
  const auto shell = source.AddProcess("shell", 100, 5);
  const auto command = source.AddProcess("command", 101, 950, shell.id);
  const ElementId out = source.Site("print", 10), in = source.Site("substitute", 20);
  source.Send(command, shell, {out, 950, 950}, {in, 5, 950});
  EXPECT_THAT(source.Findings(), IsEmpty());
}

}  // namespace
}  // namespace attune::analysis::finding_peers_test
