// Whose bytes come out of a channel: rows of either side get the process at the other end.

#include "session/probes/channel_messages.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace attune::session {
namespace {

using model::Message;
using model::MessageKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using wire::ChannelKind;

constexpr int64_t kMs = 1'000'000;

class ChannelMessagesTest : public testing::Test {
 protected:
  void Sent(const ChannelEnd& end, model::ElementId process, int64_t ms, int64_t bytes, int64_t tag = 0) {
    Add(end, MessageKind::kSent, process, ms, bytes, tag);
  }
  void Received(const ChannelEnd& end, model::ElementId process, int64_t ms, int64_t bytes, int64_t tag = 0) {
    Add(end, MessageKind::kReceived, process, ms, bytes, tag);
  }
  /// Pairs of time and peer.
  std::vector<std::pair<int64_t, int64_t>> Peers(const std::vector<Message>& rows) {
    std::vector<std::pair<int64_t, int64_t>> peers;
    for (const Message& row : rows) peers.emplace_back(row.t_ns / kMs, row.peer);
    return peers;
  }
  void Add(const ChannelEnd& end, MessageKind kind, model::ElementId process, int64_t ms, int64_t bytes, int64_t tag) {
    channels_.Add(
        end, {.t_ns = ms * kMs, .rank = process, .kind = kind, .tag = tag, .bytes = bytes, .post_ns = ms * kMs - 1});
  }

  Pipeline pipeline_{{}};
  Registry registry_{pipeline_, "host"};
  ChannelMessages channels_{registry_};
};

TEST_F(ChannelMessagesTest, BytesOfAPipeComeOutInOrder) {
  const ChannelEnd pipe = channels_.End(ChannelKind::kPipe, 99, 0, 4711);
  Sent(pipe, 1, 10, 100);
  Sent(pipe, 2, 20, 100);
  Received(pipe, 3, 30, 150);  // of both
  Received(pipe, 4, 40, 50);
  EXPECT_THAT(Peers(channels_.Take(1000 * kMs, false)),
              ElementsAre(Pair(10, 3), Pair(20, 3), Pair(30, 1), Pair(40, 2)));
}

TEST_F(ChannelMessagesTest, EachEndOfAConnectionReadsWhatTheOtherOneWrote) {
  const ChannelEnd client = channels_.End(ChannelKind::kTcpSocket, 99, 0, 5000 << 16 | 40000);
  const ChannelEnd server = channels_.End(ChannelKind::kTcpSocket, 99, 1, 5000 << 16 | 40000);
  EXPECT_EQ(client.element, server.element);
  Sent(client, 1, 10, 8);
  Received(server, 2, 20, 8);
  Sent(server, 2, 30, 8);
  Received(client, 1, 40, 8);
  EXPECT_THAT(Peers(channels_.Take(1000 * kMs, false)),
              ElementsAre(Pair(10, 2), Pair(20, 1), Pair(30, 1), Pair(40, 2)));
}

TEST_F(ChannelMessagesTest, MessagesOfAQueueKeepTheirBoundsAndKinds) {
  const ChannelEnd queue = channels_.End(ChannelKind::kSystemVQueue, 99, 0, 5);
  Sent(queue, 1, 10, 100, 1);
  Sent(queue, 2, 20, 100, 2);
  Received(queue, 3, 30, 60, 2);
  Received(queue, 4, 40, 100, 1);
  EXPECT_THAT(Peers(channels_.Take(1000 * kMs, false)),
              ElementsAre(Pair(10, 4), Pair(20, 3), Pair(30, 2), Pair(40, 1)));
}

TEST_F(ChannelMessagesTest, WaitsForTheOtherSide) {
  const ChannelEnd pipe = channels_.End(ChannelKind::kPipe, 99, 0, 4711);
  Sent(pipe, 1, 10, 100);
  EXPECT_THAT(channels_.Take(100 * kMs, false), IsEmpty());
  Received(pipe, 2, 90, 100);
  EXPECT_THAT(channels_.Take(100 * kMs, false), IsEmpty()) << "what belongs before may still come";
  EXPECT_THAT(channels_.Take(200 * kMs, false), SizeIs(2));
}

TEST_F(ChannelMessagesTest, WhatNobodyReadsIsGivenUp) {
  const ChannelEnd pipe = channels_.End(ChannelKind::kPipe, 99, 0, 4711);
  Sent(pipe, 1, 10, 100);
  EXPECT_THAT(channels_.Take(10 * kMs + 2 * ChannelMessages::kGiveUpNs, false), IsEmpty());
  EXPECT_EQ(channels_.GivenUp(), 1u);
  Sent(pipe, 1, 20, 100);
  EXPECT_THAT(channels_.Take(0, true), IsEmpty());
  EXPECT_EQ(channels_.GivenUp(), 2u);
}

TEST_F(ChannelMessagesTest, WhatWasReadInPartIsKeptWhenTheRestIsGivenUp) {
  const ChannelEnd pipe = channels_.End(ChannelKind::kPipe, 99, 0, 4711);
  Sent(pipe, 1, 10, 100);
  Received(pipe, 2, 20, 60);
  EXPECT_THAT(Peers(channels_.Take(1000 * kMs, false)), ElementsAre(Pair(20, 1)));
  EXPECT_THAT(Peers(channels_.Take(20 * kMs + 2 * ChannelMessages::kGiveUpNs, false)), ElementsAre(Pair(10, 2)));
  Sent(pipe, 1, 200'000, 100);
  Received(pipe, 2, 200'010, 60);
  EXPECT_THAT(Peers(channels_.Take(0, true)), ElementsAre(Pair(200'000, 2), Pair(200'010, 1)));
  EXPECT_EQ(channels_.GivenUp(), 0u);
}

TEST_F(ChannelMessagesTest, CountsWhatWasLostBecauseTooManyWaited) {
  const ChannelEnd pipe = channels_.End(ChannelKind::kPipe, 99, 0, 4711);
  for (size_t i = 0; i < ChannelMessages::kMaxWaiting; ++i) Sent(pipe, 1, 1000 + static_cast<int64_t>(i / 1000), 100);
  EXPECT_EQ(channels_.NoRoom(), 0u);
  Received(pipe, 2, 1300, 100);  // no room
  EXPECT_EQ(channels_.NoRoom(), 1u);
  EXPECT_THAT(channels_.Take(5000 * kMs, false), IsEmpty());  // makes room
  EXPECT_EQ(channels_.NoRoom(), ChannelMessages::kMaxWaiting + 1);
  EXPECT_EQ(channels_.GivenUp(), 0u);
}

TEST_F(ChannelMessagesTest, WhatWasReadBeforeItWasWrittenIsOfSomethingLost) {
  const ChannelEnd pipe = channels_.End(ChannelKind::kPipe, 99, 0, 4711);
  Received(pipe, 2, 5, 100);
  Sent(pipe, 1, 10, 100);
  Received(pipe, 2, 20, 100);
  EXPECT_THAT(Peers(channels_.Take(1000 * kMs, false)), ElementsAre(Pair(10, 2), Pair(20, 1)));
  EXPECT_EQ(channels_.GivenUp(), 1u);
}

TEST_F(ChannelMessagesTest, AReadOfAnEventBelongsToTheWriteThatEndedIt) {
  const ChannelEnd event = channels_.End(ChannelKind::kEvent, 99, 0, uint64_t{4711} << 32 | 5);
  const auto waited = [&](int64_t from_ms, int64_t to_ms) {
    channels_.Add(event, {.t_ns = to_ms * kMs,
                          .rank = 2,
                          .kind = MessageKind::kReceived,
                          .tag = 0,
                          .bytes = 8,
                          .post_ns = from_ms * kMs,
                          .wait_ns = from_ms * kMs});
  };
  Sent(event, 1, 10, 8);
  Received(event, 2, 12, 8);  // took what was there
  Sent(event, 1, 30, 8);
  waited(20, 31);
  Sent(event, 1, 40, 8);  // nobody waits for it
  Sent(event, 1, 60, 8);
  waited(50, 61);
  EXPECT_THAT(Peers(channels_.Take(1000 * kMs, false)),
              ElementsAre(Pair(30, 2), Pair(31, 1), Pair(60, 2), Pair(61, 1)));
  EXPECT_EQ(channels_.GivenUp(), 0u);
}

TEST_F(ChannelMessagesTest, FindsTheOtherEndOfASocket) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  struct stat status[2];
  ASSERT_EQ(::fstat(ends[0], &status[0]) + ::fstat(ends[1], &status[1]), 0);
  const auto one = static_cast<uint32_t>(status[0].st_ino), other = static_cast<uint32_t>(status[1].st_ino);
  if (ConnectedSocket(one) != 0) {  // else the kernel does not answer here (unix_diag)
    EXPECT_EQ(ConnectedSocket(one), other);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(ConnectedSocket(one), 0u);
  // The program told it itself.
  const ChannelEnd first = channels_.End(ChannelKind::kUnixSocket, 1, one, other);
  const ChannelEnd second = channels_.End(ChannelKind::kUnixSocket, 2, other, 0);
  EXPECT_EQ(first.element, second.element);
  EXPECT_EQ(first.outgoing, second.incoming);
  EXPECT_EQ(first.incoming, second.outgoing);
  EXPECT_NE(first.incoming, first.outgoing);
}

}  // namespace
}  // namespace attune::session
