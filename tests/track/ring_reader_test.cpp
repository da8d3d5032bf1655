// The reader against files that no probe would write: never a crash, never a loop, always a reason.

#include "track/ring_reader.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <random>

#include "ring_file.h"
#include "wire/message.h"

namespace attune::track {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::EventKind;
using wire::RingHeader;
using wire::RingSlot;

std::vector<RingRecord> Drain(RingReader* reader) {
  std::vector<RingRecord> records;
  const auto result =
      reader->Drain([&](std::span<const RingRecord> some) { records.insert(records.end(), some.begin(), some.end()); });
  EXPECT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result.value_or(0), records.size());
  return records;
}

RingReader Open(const RingFile& file) {
  auto reader = RingReader::Open(file.Folder(), RingFile::kName);
  EXPECT_TRUE(reader.ok()) << reader.error().message;
  return *std::move(reader);
}

Errc OpenError(const RingFile& file, const std::string& name = RingFile::kName) {
  auto reader = RingReader::Open(file.Folder(), name);
  EXPECT_FALSE(reader.ok());
  return reader.ok() ? Errc::kInternal : reader.error().code;
}

/// An instant with a value.
std::vector<uint64_t> Instant(uint64_t ticks, uint64_t value, uint32_t name = 0) {
  return {RingFile::Word0(EventKind::kInstant, 3, name), ticks, value};
}

TEST(RingReaderOpen, RefusesWhatIsNoRing) {
  const RingFile file;
  EXPECT_EQ(OpenError(file, "2.3.4"), Errc::kNotFound);
  file.Set(0, uint64_t{0});
  EXPECT_EQ(OpenError(file), Errc::kUnavailable);  // still being set up
  file.Set(0, uint64_t{0x1234});
  EXPECT_EQ(OpenError(file), Errc::kCorrupt);
  file.Set(0, ATTUNE_RING_MAGIC);
  file.Truncate(100);
  EXPECT_EQ(OpenError(file), Errc::kUnavailable);
  file.Truncate(wire::kRingHeaderBytes);
  EXPECT_EQ(OpenError(file), Errc::kCorrupt);
}

TEST(RingReaderOpen, RefusesEveryHeaderThatMakesNoSense) {
  const std::vector<std::pair<size_t, uint64_t>> cases = {
      {offsetof(RingHeader, version), 0},        {offsetof(RingHeader, header_bytes), 0},
      {offsetof(RingHeader, file_bytes), 1},     {offsetof(RingHeader, names_offset), 8},
      {offsetof(RingHeader, slots_offset), 8},   {offsetof(RingHeader, slot_bytes), 1},
      {offsetof(RingHeader, slot_count), 0},     {offsetof(RingHeader, slot_count), 0xffffffff},
      {offsetof(RingHeader, ring_words), 511},   {offsetof(RingHeader, ring_words), 0x80000000},
      {offsetof(RingHeader, names_bytes), 5000}, {offsetof(RingHeader, rings_offset), 0},
      {offsetof(RingHeader, clock), 2},          {offsetof(RingHeader, pid), 0},
  };
  for (const auto& [offset, value] : cases) {
    const RingFile file;
    file.Set(offset, static_cast<uint32_t>(value));
    EXPECT_EQ(OpenError(file), Errc::kCorrupt) << "at " << offset;
  }
}

TEST(RingReaderOpen, RefusesWhatIsNoRegularFileOfItsOwn) {
  const RingFile file;
  ASSERT_EQ(::mkfifoat(file.Folder(), "1.1.0", 0600), 0);
  EXPECT_EQ(OpenError(file, "1.1.0"), Errc::kCorrupt);
  ASSERT_EQ(::symlinkat(RingFile::kName, file.Folder(), "1.1.1"), 0);
  EXPECT_FALSE(RingReader::Open(file.Folder(), "1.1.1").ok());
  ASSERT_EQ(::linkat(file.Folder(), RingFile::kName, file.Folder(), "1.1.2", 0), 0);
  EXPECT_EQ(OpenError(file, "1.1.2"), Errc::kCorrupt);
}

TEST(RingReaderList, ShowsRingsOnly) {
  const RingFile file;
  for (const char* name : {"config", "1.2", "1.2.3.4", "a.2.3", "..", "1..3", ".1.2", "1.2.", "999.1.0"}) {
    (void)UniqueFd(::openat(file.Folder(), name, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  EXPECT_THAT(ListRings(file.Folder()).value_or({}), ElementsAre("1000.5.0", "999.1.0"));
  EXPECT_FALSE(ListRings(-1).ok());
}

TEST(RingReader, FollowsRecordsRoundTheRing) {
  const RingFile file;
  RingReader reader = Open(file);
  uint64_t position = 0;
  uint64_t value = 0;
  for (int round = 0; round < 1000; ++round) {
    const uint64_t before = value;
    for (int i = 0; i < 1 + round % 100; ++i) {
      file.PutWords(2, position, Instant(value, value));
      position += 3;
      ++value;
    }
    file.SetHead(2, position);
    const std::vector<RingRecord> records = Drain(&reader);
    ASSERT_EQ(records.size(), value - before);
    for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(records[i].a, before + i);
    ASSERT_EQ(file.ReadSlot(2).tail, position);
    ASSERT_EQ(file.ReadSlot(2).tail_check, ~position);
  }
  EXPECT_EQ(reader.Counters().delivered, value);
  EXPECT_THAT(reader.TakeProblems(), IsEmpty());
}

TEST(RingReader, GoesOnWhereAnotherReaderStopped) {
  const RingFile file;
  file.PutWords(0, 0, Instant(1, 10));
  file.SetHead(0, 3);
  {
    RingReader first = Open(file);
    EXPECT_EQ(Drain(&first).size(), 1u);
  }
  file.PutWords(0, 3, Instant(2, 20));
  file.SetHead(0, 6);
  RingReader second = Open(file);
  const std::vector<RingRecord> records = Drain(&second);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].a, 20u);
}

TEST(RingReader, NamesThreadsByTheirStartRecords) {
  const RingFile file;
  RingReader reader = Open(file);
  std::vector<uint64_t> words;
  for (const uint64_t tid : {7, 8}) {
    words.insert(words.end(), {RingFile::Word0(EventKind::kThreadStart, 3), 1, uint64_t{1000} << 32 | tid});
    words.insert(words.end(), {RingFile::Word0(EventKind::kPadding, 1), RingFile::Word0(EventKind::kInstant, 2), 2});
    words.insert(words.end(), {RingFile::Word0(EventKind::kThreadEnd, 2), 3});
  }
  file.PutWords(1, 0, words);
  file.SetHead(1, words.size());
  const std::vector<RingRecord> records = Drain(&reader);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[0].kind, EventKind::kThreadStart);
  EXPECT_EQ(records[1].tid, 7);
  EXPECT_EQ(records[4].tid, 8);
  EXPECT_EQ(records[4].pid, 1000);
  EXPECT_EQ(reader.Counters().delivered, 2u);  // threads are not events
}

TEST(RingReader, GivesModulesAndLeavesOutImpossibleOnes) {
  const RingFile file;
  RingReader reader = Open(file);
  file.PutName(8, "/usr/bin/solver", 15);
  const auto module = [](uint16_t build_id_bytes, uint32_t name, uint64_t start, uint64_t end) {
    return std::vector<uint64_t>{wire::RingWord0(static_cast<uint8_t>(EventKind::kModule), 8, build_id_bytes, name),
                                 77,
                                 start,
                                 end,
                                 0x1000,
                                 0x0807060504030201,
                                 0x100f0e0d0c0b0a09,
                                 0xffffffff14131211};
  };
  std::vector<uint64_t> words = {RingFile::Word0(EventKind::kThreadStart, 3), 1, uint64_t{1000} << 32 | 7};
  for (const auto& record : {module(20, 8, 0x2000, 0x3000), module(0, 8, 0x4000, 0x4001), module(20, 0, 0x2000, 0x3000),
                             module(21, 8, 0x2000, 0x3000), module(20, 8, 0x3000, 0x3000)}) {
    words.insert(words.end(), record.begin(), record.end());
  }
  file.PutWords(0, 0, words);
  file.SetHead(0, words.size());
  EXPECT_EQ(Drain(&reader).size(), 1u) << "modules are no events";
  EXPECT_THAT(reader.TakeModules(), ElementsAre(RingModule{1000, 77, 0x2000, 0x3000, 0x1000, "/usr/bin/solver",
                                                           "0102030405060708090a0b0c0d0e0f1011121314"},
                                                RingModule{1000, 77, 0x4000, 0x4001, 0x1000, "/usr/bin/solver", ""}));
  EXPECT_THAT(reader.TakeModules(), IsEmpty());
  EXPECT_EQ(reader.Counters().delivered, 0u);
}

TEST(RingReader, GivesSourcesAndLeavesOutThoseWithoutNames) {
  const RingFile file;
  RingReader reader = Open(file);
  file.PutName(8, "Grid.step", 9);
  file.PutName(24, "/opt/work/grid.py", 17);
  std::vector<uint64_t> words = {RingFile::Word0(EventKind::kThreadStart, 3), 1, uint64_t{1000} << 32 | 7};
  const auto put = [&words](uint32_t function, uint64_t line, uint64_t file_name) {
    words.insert(words.end(), {wire::RingWord0(static_cast<uint8_t>(EventKind::kSource), 5, 0, function), 77,
                               0x7f0012345678, line, file_name});
  };
  put(8, 12, 24);
  put(0, 12, 24);
  put(8, 12, 0);
  file.PutWords(0, 0, words);
  file.SetHead(0, words.size());
  EXPECT_EQ(Drain(&reader).size(), 1u) << "sources are no events";
  EXPECT_THAT(reader.TakeSources(),
              ElementsAre(RingSource{1000, 0x7f0012345678, 12, "Grid.step", "/opt/work/grid.py"}));
  EXPECT_THAT(reader.TakeSources(), IsEmpty());
  EXPECT_EQ(reader.Counters().delivered, 0u);
}

TEST(RingReader, GivesTheWordsOfMessages) {
  const RingFile file;
  file.PutName(8, "halo", 4);
  std::vector<uint64_t> words;
  const auto put = [&words](uint64_t word0, const std::vector<uint64_t>& others) {
    words.push_back(word0);
    words.insert(words.end(), others.begin(), others.end());
  };
  put(RingFile::Word0(EventKind::kRank, 4), {1, 0xabc, uint64_t{3} << 32 | 8});
  put(RingFile::Word0(EventKind::kCommunicator, 6, 8), {2, 5, 0xdef, uint64_t{1} << 32 | 4, 0xabc});
  put(wire::RingWord0(22, 6, 40, 5 << 16 | 1), {30, 20, uint64_t{7} << 32 | 99, 4096, 0x1234});
  put(wire::RingWord0(23, 8, 41, 5 << 16), {31, 21, uint64_t{wire::kMessageForeignPeer | 2} << 32, 1, 2, 25, 4});
  put(wire::RingWord0(24, 7, 42, 5 << 16), {32, 22, uint64_t{0xffffffff} << 32 | 6, 8, 16, 0x99});
  put(wire::RingWord0(24, 8, 42, 5 << 16), {33, 22, 7, 8, 16, 0x99, 30});
  file.PutWords(0, 0, words);
  file.SetHead(0, words.size());
  RingReader reader = Open(file);
  const std::vector<RingRecord> records = Drain(&reader);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(reader.Counters().delivered, 4u);
  const wire::RankRecord rank = wire::DecodeRank(records[0].words.data());
  EXPECT_THAT((std::vector<uint64_t>{rank.time, rank.world}), ElementsAre(1, 0xabc));
  EXPECT_THAT((std::vector{rank.rank, rank.size}), ElementsAre(3, 8));
  const wire::CommunicatorRecord communicator = wire::DecodeCommunicator(records[1].words.data());
  EXPECT_EQ(reader.Name(records[1].name), "halo");
  EXPECT_THAT((std::vector<uint64_t>{communicator.index, communicator.id, communicator.parent}),
              ElementsAre(5, 0xdef, 0xabc));
  const wire::MessageRecord sent = wire::DecodeMessage(records[2].words.data());
  EXPECT_EQ(sent.kind, wire::MessageKind::kSent);
  EXPECT_THAT((std::vector<uint64_t>{sent.function, sent.communicator, sent.cpu, sent.peer, sent.bytes, sent.site}),
              ElementsAre(40, 5, 1, 7, 4096, 0x1234));
  EXPECT_THAT((std::vector<uint64_t>{sent.time, sent.post_time, sent.wait_time, sent.wait_site}),
              ElementsAre(30, 20, 20, 0x1234));
  EXPECT_EQ(sent.tag, 99);
  const wire::MessageRecord received = wire::DecodeMessage(records[3].words.data());
  EXPECT_EQ(received.kind, wire::MessageKind::kReceived);
  EXPECT_THAT((std::vector<uint64_t>{received.peer, received.wait_time, received.wait_site}),
              ElementsAre(wire::kMessageForeignPeer | 2, 25, 4));
  const wire::CollectiveRecord barrier = wire::DecodeCollective(records[4].words.data());
  EXPECT_EQ(barrier.root, -1);
  EXPECT_THAT((std::vector<uint64_t>{barrier.function, barrier.sequence, barrier.bytes_sent, barrier.bytes_received,
                                     barrier.site, barrier.wait_time}),
              ElementsAre(42, 6, 8, 16, 0x99, 22));
  EXPECT_EQ(wire::DecodeCollective(records[5].words.data()).wait_time, 30u);
}

TEST(RingReader, RefusesMessagesOfAnotherLength) {
  const std::vector<std::pair<EventKind, uint8_t>> wrong = {
      {EventKind::kRank, 3},        {EventKind::kRank, 5},        {EventKind::kCommunicator, 4},
      {EventKind::kMessageSent, 5}, {EventKind::kMessageSent, 7}, {EventKind::kMessageReceived, 9},
      {EventKind::kCollective, 6},  {EventKind::kCollective, 9},  {static_cast<EventKind>(25), 4}};
  for (const auto& [kind, size] : wrong) {
    const RingFile file;
    std::vector<uint64_t> words(16, 0);
    words[0] = RingFile::Word0(kind, size);
    file.PutWords(0, 0, words);
    file.SetHead(0, words.size());
    RingReader reader = Open(file);
    EXPECT_THAT(Drain(&reader), IsEmpty());
    EXPECT_EQ(reader.Counters().damaged_slots, 1u) << static_cast<int>(kind) << " of " << int{size};
  }
}

TEST(RingReader, StopsASlotAtWhatIsNoRecordAndReadsTheOthers) {
  const std::vector<std::vector<uint64_t>> cases = {
      {0},                                           // no kind, no words
      {RingFile::Word0(EventKind::kInstant, 0)},     // a record that would never end
      {RingFile::Word0(EventKind::kInstant, 1)},     // too short
      {RingFile::Word0(EventKind::kInstant, 255)},   // too long
      {RingFile::Word0(EventKind::kInstant, 3), 1},  // beyond the head
      {RingFile::Word0(static_cast<EventKind>(200), 2), 1},
      {~uint64_t{0}, ~uint64_t{0}},
  };
  for (const auto& words : cases) {
    const RingFile file;
    RingReader reader = Open(file);
    file.PutWords(0, 0, Instant(1, 1));
    file.PutWords(0, 3, words);
    file.SetHead(0, 3 + words.size());
    file.PutWords(3, 0, Instant(5, 5));
    file.SetHead(3, 3);
    const std::vector<RingRecord> records = Drain(&reader);
    ASSERT_EQ(records.size(), 2u);  // what was before the damage, and the other slot
    EXPECT_EQ(records[1].a, 5u);
    EXPECT_EQ(reader.Counters().damaged_slots, 1u);
    EXPECT_THAT(reader.TakeProblems(), ElementsAre(HasSubstr("slot 0")));
    EXPECT_TRUE(Drain(&reader).empty());
    EXPECT_THAT(reader.TakeProblems(), IsEmpty());  // said once
  }
}

TEST(RingReader, StopsASlotWhoseHeadIsImpossible) {
  for (const uint64_t head : {uint64_t{1} << 63, ~uint64_t{0}, uint64_t{RingFile::kWords} + 4, uint64_t{2}}) {
    const RingFile file;
    RingReader reader = Open(file);
    file.PutWords(0, 0, Instant(1, 1));
    file.SetHead(0, 3);
    ASSERT_EQ(Drain(&reader).size(), 1u);
    file.SetHead(0, head);  // beyond the ring, or backwards
    EXPECT_TRUE(Drain(&reader).empty());
    EXPECT_THAT(reader.TakeProblems(), ElementsAre(HasSubstr("head")));
  }
}

TEST(RingReader, BoundsWorkWhenTheFileLiesAboutItself) {
  const RingFile file;
  RingReader reader = Open(file);
  file.Set(offsetof(RingHeader, slots_used), uint32_t{0xffffffff});
  file.Set(offsetof(RingHeader, slot_count), uint32_t{0xffffffff});
  file.Set(offsetof(RingHeader, ring_words), uint32_t{0xffffffff});
  file.Set(offsetof(RingHeader, rings_offset), ~uint64_t{0});
  file.PutWords(3, 0, Instant(1, 1));
  file.SetHead(3, 3);
  EXPECT_EQ(Drain(&reader).size(), 1u);
}

TEST(RingReader, StopsWhenTheFileIsTruncated) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{4096}, uint64_t{9000}, uint64_t{10000}}) {
    const RingFile file;
    RingReader reader = Open(file);
    file.PutWords(0, 0, Instant(1, 1));
    file.SetHead(0, 3);
    file.Truncate(bytes);
    for (int i = 0; i < 2; ++i) {
      const auto result = reader.Drain([](auto) {});
      ASSERT_FALSE(result.ok()) << bytes;
      EXPECT_EQ(result.error().code, Errc::kCorrupt);
    }
    EXPECT_THAT(reader.TakeProblems(), ElementsAre(HasSubstr("truncated")));
    EXPECT_FALSE(reader.TopUpReadySlots(UINT64_MAX).ok());
  }
}

TEST(RingReader, ReadsNamesOnceAndMakesThemPrintable) {
  const RingFile file;
  RingReader reader = Open(file);
  file.PutName(8, "plain", 5);
  file.PutName(64, "a\nb\x7f\xc2\x85z", 7);
  file.PutName(128, "\xff\xc3\xa4\xed\xa0\x80", 6);  // a stray byte, a letter, half of a pair
  file.PutName(256, "plain", 5);                     // the same text elsewhere
  uint64_t position = 0;
  for (const uint32_t id : {8, 64, 128, 256, 0}) {
    file.PutWords(0, position, Instant(1, id, id));
    position += 3;
  }
  file.SetHead(0, position);
  std::vector<std::string> names;
  for (const RingRecord& record : Drain(&reader)) names.emplace_back(reader.Name(record.name));
  EXPECT_THAT(names, ElementsAre("plain", "a?b??z", "?\xc3\xa4???", "plain", ""));
  EXPECT_EQ(reader.Counters().damaged_names, 0u);
  EXPECT_EQ(reader.Name(12345), "");
}

TEST(RingReader, SurvivesNamesThatLie) {
  const RingFile file;
  RingReader reader = Open(file);
  file.PutName(8, "x", 0xffffffff);                                  // too long
  file.PutName(RingFile::kNamesBytes - 8, "abcd", 100);              // beyond the area
  file.PutName(16, std::string_view("\x08\0\0\0\x10\0\0\0", 8), 8);  // a name made of names
  uint64_t position = 0;
  for (const uint32_t id : {8u, RingFile::kNamesBytes - 8, 16u, 9u, RingFile::kNamesBytes, 0xfffffff8u}) {
    file.PutWords(0, position, Instant(1, 1, id));
    position += 3;
  }
  file.SetHead(0, position);
  const std::vector<RingRecord> records = Drain(&reader);
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(reader.Name(records[0].name), "(damaged name)");
  EXPECT_EQ(reader.Name(records[2].name), "????????");
  EXPECT_EQ(reader.Counters().damaged_names, 5u);
}

TEST(RingReader, ReportsAtTheEndWhatNoRecordReports) {
  const RingFile file;
  RingReader reader = Open(file);
  file.PutWords(0, 0, std::vector<uint64_t>{RingFile::Word0(EventKind::kDropped, 4), 100, 5, 200});
  RingSlot slot = file.ReadSlot(0);
  slot.head = 4;
  slot.dropped = 12;
  slot.reported = 5;
  slot.first_drop = 300;
  file.WriteSlot(0, slot);
  std::vector<RingRecord> records;
  const auto keep = [&](std::span<const RingRecord> some) { records.insert(records.end(), some.begin(), some.end()); };
  ASSERT_TRUE(reader.Finish(keep).ok());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].a, 5u);
  EXPECT_EQ(records[0].b, 200u);
  EXPECT_EQ(records[1].a, 7u);
  EXPECT_EQ(records[1].ticks, 300u);
  EXPECT_EQ(records[1].b, 0u);
  ASSERT_TRUE(reader.Finish(keep).ok());
  EXPECT_EQ(records.size(), 2u);  // once
  EXPECT_EQ(reader.Counters().dropped, 12u);
}

TEST(RingReader, SurvivesAnyBytes) {
  std::minstd_rand random(1);
  RingFile file;
  for (int round = 0; round < 500; ++round) {
    file.Reset();
    RingReader reader = Open(file);
    for (int step = 0; step < 5; ++step) {
      for (int patch = 0; patch < 40; ++patch) {
        const uint64_t offset =
            wire::kRingHeaderBytes + random() % (file.Layout().file_bytes - wire::kRingHeaderBytes - 8);
        file.Set(offset, static_cast<uint64_t>(random()) << (random() % 33));
      }
      const uint32_t slot = random() % RingFile::kSlots;
      file.SetHead(slot, random() % (uint64_t{2} * RingFile::kWords));
      size_t delivered = 0;
      const auto result = reader.Drain([&](std::span<const RingRecord> records) { delivered += records.size(); });
      ASSERT_TRUE(result.ok());
      ASSERT_LE(delivered, RingFile::kSlots * RingFile::kWords);
      ASSERT_TRUE(reader.TopUpReadySlots(UINT64_MAX).ok());
      (void)reader.HasLivingOwner();
    }
    ASSERT_LE(reader.TakeProblems().size(), RingFile::kSlots);
  }
}

TEST(RingReader, KnowsLivingOwnersBeforeTheFirstDrain) {
  const RingFile file;
  RingSlot slot = file.ReadSlot(1);
  slot.state = wire::kRingSlotClaimed;
  slot.pid = ::getpid();
  slot.tid = ::gettid();
  file.WriteSlot(1, slot);
  EXPECT_TRUE(Open(file).HasLivingOwner());
  slot.tid = INT32_MAX;  // beyond any thread id
  file.WriteSlot(1, slot);
  EXPECT_FALSE(Open(file).HasLivingOwner());
}

/// A slot that a thread has, in no wait and with all records read.
RingSlot SlotOf(const RingFile& file, uint32_t index, int32_t pid, int32_t tid) {
  RingSlot slot = file.ReadSlot(index);
  slot.state = wire::kRingSlotClaimed;
  slot.pid = pid;
  slot.tid = tid;
  return slot;
}

/// All slots are claimed, so that the reader looks for dead owners. @return the state of slot 1 then
uint32_t StateAfterTopUp(const RingFile& file, RingReader* reader) {
  for (const uint32_t other : {0, 2, 3}) file.WriteSlot(other, SlotOf(file, other, ::getpid(), ::gettid()));
  Drain(reader);
  EXPECT_TRUE(reader->TopUpReadySlots(0).ok());
  return file.ReadSlot(1).state;
}

TEST(RingReaderOwners, FreesTheSlotOfADeadOwner) {
  const RingFile file;
  RingReader reader = Open(file);
  file.WriteSlot(1, SlotOf(file, 1, ::getpid(), INT32_MAX));
  EXPECT_EQ(StateAfterTopUp(file, &reader), uint32_t{wire::kRingSlotFree});
  // The next owner has claimed it, and has not written its numbers yet.
  file.Set(file.SlotOffset(1) + offsetof(RingSlot, state), uint32_t{wire::kRingSlotClaimed});
  EXPECT_EQ(StateAfterTopUp(file, &reader), uint32_t{wire::kRingSlotClaimed});
}

TEST(RingReaderOwners, LeavesASlotToAnOwnerThatHasNotWrittenItsNumbersYet) {
  const RingFile file;
  RingReader reader = Open(file);
  const uint64_t thread = uint64_t{static_cast<uint32_t>(::getpid())} << 32 | INT32_MAX;
  const std::vector<uint64_t> words = {RingFile::Word0(EventKind::kThreadStart, 3), 100, thread,
                                       RingFile::Word0(EventKind::kThreadEnd, 2), 200};
  file.PutWords(1, 0, words);
  RingSlot slot = SlotOf(file, 1, ::getpid(), INT32_MAX);  // the former owner's
  slot.head = words.size();
  file.WriteSlot(1, slot);
  EXPECT_EQ(StateAfterTopUp(file, &reader), uint32_t{wire::kRingSlotClaimed});
  // It has now, and is killed.
  file.PutWords(1, words.size(), std::span(words).first(3));
  file.SetHead(1, words.size() + 3);
  EXPECT_EQ(StateAfterTopUp(file, &reader), uint32_t{wire::kRingSlotFree});
}

TEST(RingReaderOwners, AreAliveWhereTheirProgramHasNoNumberWithUs) {
  const RingFile file;
  RingSlot slot = SlotOf(file, 1, INT32_MAX, INT32_MAX);
  slot.wait_since = 1;
  file.WriteSlot(1, slot);
  UniqueFd fd(::openat(file.Folder(), RingFile::kName, O_RDWR | O_CLOEXEC));
  auto reader = RingReader::Take(fd, "sent", 0);
  ASSERT_TRUE(reader.ok());
  EXPECT_TRUE(reader->HasLivingOwner());
  EXPECT_EQ(StateAfterTopUp(file, &*reader), uint32_t{wire::kRingSlotClaimed});
  EXPECT_EQ(file.ReadSlot(1).wait_since, 1u);
}

TEST(RingReader, LevelsAreWrittenWhereTheProgramLooks) {
  const RingFile file;
  RingReader reader = Open(file);
  ASSERT_TRUE(reader.SetLevel(wire::kRingLevelTrace).ok());
  uint32_t level = 0;
  const UniqueFd fd(::openat(file.Folder(), RingFile::kName, O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::pread(fd.get(), &level, sizeof(level), offsetof(RingHeader, level)), 4);
  EXPECT_EQ(level, 3u);
}

}  // namespace
}  // namespace attune::track
