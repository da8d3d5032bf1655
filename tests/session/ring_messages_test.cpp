// Messages from rings that were made by hand: what a program says becomes rows and elements, what cannot be is left
// out.

#include "session/probes/ring_messages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "../track/ring_file.h"
#include "base/host_root.h"

namespace attune::session {
namespace {

using model::ElementId;
using model::ElementKind;
using model::kAbsent;
using testing::IsEmpty;
using testing::SizeIs;
using wire::EventKind;

constexpr uint64_t kWorld = 0xabcdef0123456789;

class Elements : public model::Sink {
 public:
  void Consume(const model::BatchPtr& batch) override {
    if (batch->table != model::Element::kTable) return;
    for (model::Element& row : model::RowsFrom<model::Element>(*batch)) elements[row.id] = std::move(row);
  }
  std::map<ElementId, model::Element> elements;
};

uint64_t Halves(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }

class RingMessagesTest : public testing::Test {
 protected:
  RingMessagesTest() {
    auto reader = track::RingReader::Open(file_.Folder(), track::RingFile::kName);
    EXPECT_TRUE(reader.ok());
    reader_ = std::make_unique<track::RingReader>(*std::move(reader));
    file_.PutName(8, "grid", 4);
  }
  /// Appends words to the ring of a slot.
  void Put(uint32_t slot, std::vector<uint64_t> words) {
    file_.PutWords(slot, heads_[slot], words);
    heads_[slot] += words.size();
    file_.SetHead(slot, heads_[slot]);
  }
  static uint64_t Word0(EventKind kind, uint8_t words, uint16_t function = 0, uint32_t name = 0) {
    return wire::RingWord0(static_cast<uint8_t>(kind), words, function, name);
  }
  void Start(uint32_t slot, int32_t pid, int32_t tid) {
    Put(slot, {Word0(EventKind::kThreadStart, 3), 1, Halves(static_cast<uint32_t>(pid), static_cast<uint32_t>(tid))});
  }
  void SayRank(uint32_t slot, uint32_t rank, uint32_t size = 2, uint64_t world = kWorld) {
    Put(slot, {Word0(EventKind::kRank, 4), 5, world, Halves(rank, size)});
    Put(slot, {Word0(EventKind::kCommunicator, 6), 5, 1, world, Halves(rank, size), 0});
  }
  /// A message of function 3 (MPI_Send) or 5 (MPI_Recv) on the communicator 1.
  void Message(uint32_t slot, EventKind kind, uint32_t peer, uint64_t post, uint64_t end, uint32_t tag = 7,
               uint16_t cpu = 1) {
    const uint16_t function = kind == EventKind::kMessageSent ? 3 : 5;
    Put(slot, {Word0(kind, 6, function, uint32_t{1} << 16 | cpu), end, post, Halves(peer, tag), 4096, 0x1000});
  }
  void Take() {
    std::vector<track::RingRecord> records;
    EXPECT_TRUE(reader_
                    ->Drain([&](std::span<const track::RingRecord> some) {
                      records.insert(records.end(), some.begin(), some.end());
                    })
                    .ok());
    ring_messages_.Take(*reader_, records, [](uint64_t ticks) { return static_cast<int64_t>(ticks); });
    for (const model::Message& row : ring_messages_.TakeMessages()) messages_.push_back(row);
    for (const model::Collective& row : ring_messages_.TakeCollectives()) collectives_.push_back(row);
    pipeline_.Drain();
  }
  const model::Element& Of(ElementId id) { return sink_.elements.at(id); }

  track::RingFile file_;
  std::unique_ptr<track::RingReader> reader_;
  std::map<uint32_t, uint64_t> heads_;
  Elements sink_;
  Pipeline pipeline_{{&sink_}};
  Registry registry_{pipeline_, "host"};
  ProcessTable processes_{registry_, pipeline_};
  HostRoot host_;
  LockNames names_{registry_};
  RingWaits waits_{host_, processes_, registry_, pipeline_, names_};
  MessageElements elements_{processes_, registry_, pipeline_};
  ChannelMessages channels_{registry_};
  RingMessages ring_messages_{elements_, channels_, processes_, waits_};
  std::vector<model::Message> messages_;
  std::vector<model::Collective> collectives_;
};

uint16_t FunctionOf(wire::ChannelFunction function) {
  return static_cast<uint16_t>(wire::kMessageFirstChannelFunction + static_cast<unsigned>(function));
}

TEST_F(RingMessagesTest, PipesBetweenProcessesAreMessagesToo) {
  const auto pipe = static_cast<uint16_t>(wire::ChannelKind::kPipe);
  const uint32_t place = uint32_t{7} << 16 | 1;
  Start(0, 1000, 1000);
  Put(0, {Word0(EventKind::kCommunicator, 6, pipe), 5, 7, 0x123, 0, 4711});
  Put(0, {Word0(EventKind::kMessageSent, 6, FunctionOf(wire::ChannelFunction::kWrite), place), 300, 100, 0, 4096, 16});
  Start(1, 2000, 2001);
  Put(1, {Word0(EventKind::kCommunicator, 6, pipe), 6, 7, 0x123, 0, 4711});
  Put(1,
      {Word0(EventKind::kMessageReceived, 6, FunctionOf(wire::ChannelFunction::kRead), place), 500, 200, 0, 4096, 16});
  Take();
  EXPECT_EQ(ring_messages_.LeftOut(), 0u);
  EXPECT_THAT(messages_, IsEmpty());
  const auto rows = channels_.Take(0, true);
  pipeline_.Drain();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(Of(rows[0].rank).os_id, 1000);
  EXPECT_EQ(Of(rows[0].peer).os_id, 2000);
  EXPECT_EQ(rows[1].rank, rows[0].peer);
  EXPECT_EQ(rows[1].peer, rows[0].rank);
  EXPECT_EQ(Of(rows[0].communicator).kind, ElementKind::kChannel);
  EXPECT_EQ(Of(rows[0].communicator).name, "pipe 4711");
  EXPECT_EQ(Of(rows[0].function).name, "write");
  EXPECT_EQ(rows[0].tag, kAbsent);
  EXPECT_EQ(rows[0].bytes, 4096);
}

TEST_F(RingMessagesTest, NamedChannelsAreOneByTheirName) {
  Start(0, 1000, 1000);
  const uint32_t place = uint32_t{wire::kMessageNamedChannel} << 16 | wire::kMessageNoCpu;
  Put(0, {Word0(EventKind::kMessageSent, 6, FunctionOf(wire::ChannelFunction::kChannelSend), place), 300, 100,
          Halves(8, 3), 64, 16});
  Put(0, {Word0(EventKind::kMessageReceived, 6, FunctionOf(wire::ChannelFunction::kChannelRecv), place), 400, 200,
          Halves(8, 3), 64, 16});
  Take();
  const auto rows = channels_.Take(0, true);
  pipeline_.Drain();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(Of(rows[0].communicator).name, "grid");
  EXPECT_EQ(rows[0].tag, 3);
  EXPECT_EQ(rows[0].peer, rows[0].rank);
}

TEST_F(RingMessagesTest, ChannelsThatMakeNoSenseAreLeftOut) {
  Start(0, 1000, 1000);
  const uint16_t write = FunctionOf(wire::ChannelFunction::kWrite);
  Put(0, {Word0(EventKind::kCommunicator, 6, 99), 5, 7, 1, 0, 1});                            // no such kind
  Put(0, {Word0(EventKind::kCommunicator, 6, 1), 5, 0xffff, 1, 0, 1});                        // nor index
  Put(0, {Word0(EventKind::kMessageSent, 6, write, uint32_t{8} << 16), 300, 100, 0, 8, 16});  // nor channel
  Put(0, {Word0(EventKind::kCommunicator, 6, 1), 5, 7, 1, 0, 1});
  Put(0, {Word0(EventKind::kMessageSent, 6, 0xfff0, uint32_t{7} << 16), 300, 100, 0, 8, 16});  // nor function
  Take();
  EXPECT_EQ(ring_messages_.LeftOut(), 4u);
  EXPECT_THAT(channels_.Take(0, true), IsEmpty());
}

TEST_F(RingMessagesTest, BothSidesBecomeRowsWithTheirElements) {
  Start(0, 1000, 1000);
  SayRank(0, 1);
  Message(0, EventKind::kMessageSent, 0, 100, 300);
  Put(0, {Word0(EventKind::kMessageReceived, 8, 10, uint32_t{1} << 16 | wire::kMessageNoCpu), 900, 400,
          Halves(0, static_cast<uint32_t>(-1)), 16, 0x1000, 700, 0x2000});
  Take();
  ASSERT_THAT(messages_, SizeIs(2));
  const model::Message& sent = messages_[0];
  EXPECT_EQ(sent.kind, model::MessageKind::kSent);
  EXPECT_EQ(sent.t_ns, 300);
  EXPECT_EQ(sent.post_ns, 100);
  EXPECT_EQ(sent.wait_ns, 100) << "it blocked itself";
  EXPECT_EQ(sent.wait_site, sent.site);
  EXPECT_EQ(sent.bytes, 4096);
  EXPECT_EQ(sent.tag, 7);
  EXPECT_EQ(sent.cpu, 1);
  EXPECT_EQ(Of(sent.function).name, "MPI_Send");
  EXPECT_EQ(Of(sent.function).kind, ElementKind::kFunction);
  EXPECT_EQ(Of(sent.communicator).kind, ElementKind::kCommunicator);
  EXPECT_EQ(Of(sent.communicator).name, "communicator of 2 ranks");
  EXPECT_EQ(Of(sent.thread).os_id, 1000);
  const model::Element& rank = Of(sent.rank);
  EXPECT_EQ(rank.kind, ElementKind::kRank);
  EXPECT_EQ(rank.name, "rank 1");
  EXPECT_EQ(rank.os_id, 1);
  EXPECT_EQ(rank.host, "host");
  EXPECT_EQ(Of(Of(sent.thread).parent).parent, sent.rank) << "its process lies below it";
  EXPECT_EQ(Of(sent.peer).name, "rank 0");
  EXPECT_EQ(Of(sent.peer).host, "") << "nobody here said to be it";

  const model::Message& received = messages_[1];
  EXPECT_EQ(received.kind, model::MessageKind::kReceived);
  EXPECT_EQ(Of(received.function).name, "MPI_Irecv");
  EXPECT_EQ(received.wait_ns, 700);
  EXPECT_NE(received.wait_site, received.site);
  EXPECT_EQ(received.tag, -1);
  EXPECT_EQ(received.cpu, kAbsent);
  EXPECT_EQ(ring_messages_.LeftOut(), 0u);
}

TEST_F(RingMessagesTest, APeerIsTheRankThatComesLater) {
  Start(0, 1000, 1000);
  SayRank(0, 0);
  Message(0, EventKind::kMessageSent, 1, 10, 20);
  Take();
  const ElementId peer = messages_[0].peer;
  EXPECT_EQ(Of(peer).host, "");
  RingMessages other(elements_, channels_, processes_, waits_);  // of another process's ring
  track::RingRecord said{.kind = EventKind::kRank, .pid = 1001, .tid = 1001};
  said.words = {Word0(EventKind::kRank, 4), 5, kWorld, Halves(1, 2)};
  other.Take(*reader_, std::span(&said, 1), [](uint64_t ticks) { return static_cast<int64_t>(ticks); });
  pipeline_.Drain();
  EXPECT_EQ(Of(peer).host, "host");
  EXPECT_EQ(Of(processes_.Process(1001)).parent, peer);
  processes_.SetRank(1001, 9);
  pipeline_.Drain();
  EXPECT_EQ(Of(processes_.Process(1001)).parent, peer) << "what it said itself is better than its environment";
}

TEST_F(RingMessagesTest, RanksOfTwoJobsAreTold) {
  EXPECT_EQ(elements_.Rank(1, 0), elements_.Rank(1, 0));
  const ElementId second = elements_.Rank(2, 0);
  EXPECT_NE(second, elements_.Rank(1, 0));
  pipeline_.Drain();
  EXPECT_EQ(Of(second).name, "rank 0 of job 2");
}

TEST_F(RingMessagesTest, ACommunicatorIsTheSameInAllRanksAndMayGetAName) {
  const ElementId plain = elements_.Communicator(77, "", 4);
  EXPECT_EQ(elements_.Communicator(77, "", 4), plain);
  EXPECT_EQ(elements_.Communicator(77, "grid", 4), plain);
  EXPECT_EQ(elements_.Communicator(77, "", 4), plain);
  pipeline_.Drain();
  EXPECT_EQ(Of(plain).name, "grid");
  EXPECT_NE(elements_.Communicator(78, "grid", 4), plain);
}

TEST_F(RingMessagesTest, ACommunicatorMayBeToldInAnotherRing) {
  Start(0, 1000, 1000);
  Start(1, 1000, 1001);
  Put(0, {Word0(EventKind::kRank, 4), 5, kWorld, Halves(0, 2)});
  Put(0, {Word0(EventKind::kMessageSent, 6, 3, uint32_t{2} << 16), 20, 10, Halves(1, 0), 8, 0x1000});
  Put(1, {Word0(EventKind::kCommunicator, 6, 0, 8), 5, 2, 99, Halves(0, 2), kWorld});
  Take();
  ASSERT_THAT(messages_, SizeIs(1));
  EXPECT_EQ(Of(messages_[0].communicator).name, "grid");
}

TEST_F(RingMessagesTest, PartsInCollectiveOperations) {
  Start(0, 1000, 1000);
  SayRank(0, 1);
  Put(0, {Word0(EventKind::kCollective, 7, 60, uint32_t{1} << 16 | 1), 300, 100, Halves(0, 5), 8, 16, 0x1000});
  Put(0,
      {Word0(EventKind::kCollective, 8, 60, uint32_t{1} << 16 | 1), 900, 400, Halves(0xffffffff, 6), 8, 16, 0x1000, 0});
  Take();
  ASSERT_THAT(collectives_, SizeIs(2));
  EXPECT_EQ(collectives_[0].root, 0);
  EXPECT_EQ(collectives_[0].sequence, 5);
  EXPECT_EQ(collectives_[0].communicator_rank, 1);
  EXPECT_EQ(collectives_[0].communicator_size, 2);
  EXPECT_EQ(collectives_[0].wait_ns, 100);
  EXPECT_EQ(collectives_[0].bytes_received, 16);
  EXPECT_EQ(collectives_[1].root, kAbsent);
  EXPECT_EQ(collectives_[1].wait_ns, kAbsent) << "it was found complete";
}

TEST_F(RingMessagesTest, PeersOfOtherJobsAreRanksOfTheirOwn) {
  Start(0, 1000, 1000);
  SayRank(0, 0);
  Message(0, EventKind::kMessageSent, wire::kMessageForeignPeer | 0, 10, 20);
  Take();
  ASSERT_THAT(messages_, SizeIs(1));
  EXPECT_NE(messages_[0].peer, messages_[0].rank);
  EXPECT_EQ(Of(messages_[0].peer).name, "rank 0 of job 2");
}

TEST_F(RingMessagesTest, WhatCannotBeIsLeftOutOrMadeSuchThatItCan) {
  Start(0, 1000, 1000);
  Message(0, EventKind::kMessageSent, 1, 10, 20);  // it has not said which rank it is
  Take();
  EXPECT_THAT(messages_, IsEmpty());
  EXPECT_EQ(ring_messages_.LeftOut(), 1u);
  Put(0, {Word0(EventKind::kRank, 4), 5, kWorld, Halves(2, 2)});           // a rank beyond the size
  Put(0, {Word0(EventKind::kRank, 4), 5, kWorld, Halves(0, 0x7fffffff)});  // more than any machine has
  Put(0, {Word0(EventKind::kCommunicator, 6), 5, 0, 1, Halves(0, 2), 0});  // no index
  Put(0, {Word0(EventKind::kCommunicator, 6), 5, uint64_t{1} << 40, 1, Halves(0, 2), 0});
  Put(0, {Word0(EventKind::kCommunicator, 6), 5, 1, 1, Halves(5, 2), 0});
  Take();
  EXPECT_EQ(ring_messages_.LeftOut(), 6u);
  SayRank(0, 0);
  SayRank(0, 1);                                   // it stays what it is
  Message(0, EventKind::kMessageSent, 2, 10, 20);  // there is no rank 2
  Take();
  EXPECT_EQ(ring_messages_.LeftOut(), 7u);
  EXPECT_THAT(messages_, IsEmpty());
  Message(0, EventKind::kMessageSent, 1, 500, 20);  // posted after its end
  Put(0, {Word0(EventKind::kMessageReceived, 8, 30'000, uint32_t{9} << 16), 900, 400, Halves(1, 0), UINT64_MAX, 0x1000,
          5000, 0x2000});
  Put(0, {Word0(EventKind::kCollective, 7, 60, uint32_t{1} << 16), 300, 100, Halves(77, 5), 8, 16, 0x1000});
  Take();
  ASSERT_THAT(messages_, SizeIs(2));
  EXPECT_EQ(Of(messages_[0].rank).name, "rank 0");
  EXPECT_EQ(messages_[0].post_ns, 20);
  EXPECT_EQ(messages_[1].wait_ns, 900) << "it began to wait after the end";
  EXPECT_EQ(messages_[1].bytes, INT64_MAX);
  EXPECT_EQ(messages_[1].communicator, 0u) << "one that was never told of";
  EXPECT_EQ(Of(messages_[1].function).name, "MPI") << "a function that there is not";
  ASSERT_THAT(collectives_, SizeIs(1));
  EXPECT_EQ(collectives_[0].root, kAbsent) << "a root that is no rank of it";
}

TEST_F(RingMessagesTest, ElementsAreBounded) {
  for (int64_t rank = 0; rank < static_cast<int64_t>(MessageElements::kMaxRanks); ++rank) (void)elements_.Rank(1, rank);
  EXPECT_EQ(elements_.Rank(1, 1 << 20), 0u);
  EXPECT_NE(elements_.Rank(1, 5), 0u);
  for (uint64_t id = 1; id <= MessageElements::kMaxCommunicators; ++id) (void)elements_.Communicator(id, "", 2);
  EXPECT_EQ(elements_.Communicator(1 << 20, "", 2), 0u);
  EXPECT_NE(elements_.Communicator(5, "", 2), 0u);
}

}  // namespace
}  // namespace attune::session
