#include <gtest/gtest.h>

#include "model/batch.h"
#include "model/codec.h"

namespace attune::model {
namespace {

Batch Through(const Batch& batch) {
  const std::string frame = EncodeFrame(batch, Compression::kZstd);
  auto decoded = DecodeFrame(frame);
  EXPECT_TRUE(decoded.ok()) << (decoded.ok() ? "" : decoded.error().message);
  return decoded.ok() ? *decoded : Batch{};
}

TEST(Batch, TypedRowsSurviveTheFrame) {
  const std::vector<Process> processes{
      {.id = 7, .parent = 1, .pid = 4711, .start_ns = 5, .exit_code = 3, .host = "h", .command = "xz -9"}};
  const auto back = ProcessesFrom(Through(ToBatch(processes)));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].pid, 4711);
  EXPECT_EQ(back[0].exit_code, 3);
  EXPECT_EQ(back[0].end_ns, kAbsent);
  EXPECT_EQ(back[0].command, "xz -9");

  const std::vector<Stream> streams{{1, 1'000'000, {3, 4, 5}}, {2, 0, {9}}};
  const auto streams_back = StreamsFrom(Through(ToBatch(streams)));
  ASSERT_EQ(streams_back.size(), 2u);
  EXPECT_EQ(streams_back[0].series, (std::vector<SeriesId>{3, 4, 5}));
  EXPECT_EQ(streams_back[1].interval_ns, 0);
}

TEST(Batch, AlarmsSurviveTheFrame) {
  const Alarm raised{.t_ns = 5,
                     .id = 2,
                     .severity = AlarmSeverity::kCritical,
                     .element = 3,
                     .series = 4,
                     .value = 971,
                     .threshold = 950,
                     .scale = -1,
                     .alarm = "memory.full",
                     .unit = "%",
                     .text = "97.1 % of memory are used",
                     .advice = "use less"};
  const Alarm cleared{.t_ns = 9, .id = 2, .state = AlarmState::kCleared, .alarm = "memory.full"};
  const std::vector<Alarm> rows{raised, cleared};
  EXPECT_EQ(AlarmsFrom(Through(ToBatch(rows))), rows);

  Batch foreign = ToBatch(rows);
  foreign.ints[2] = {0, 3};
  EXPECT_TRUE(AlarmsFrom(foreign).empty()) << "states that there are not";
  foreign = ToBatch(rows);
  foreign.ints[8] = {400, -400};
  EXPECT_TRUE(AlarmsFrom(foreign).empty()) << "scales that there cannot be";
}

TEST(Batch, WaitsAndTheirSitesSurviveTheFrame) {
  const std::vector<Sync> sync{{.t_ns = 5,
                                .thread = 2,
                                .object = 3,
                                .site = 4,
                                .kind = wire::SyncKind::kMutex,
                                .count = 1000,
                                .contended = 7,
                                .wait_ns = 123'456'789,
                                .hold_ns = 1600,
                                .holds = 16},
                               {.t_ns = 6, .thread = 2, .object = 5, .site = 6, .kind = wire::SyncKind::kWake}};
  EXPECT_EQ(SyncFrom(Through(ToBatch(sync))), sync);
  EXPECT_EQ(TimeExtent(ToBatch(sync)), (std::pair<int64_t, int64_t>{5, 6}));
  Batch foreign = ToBatch(sync);
  foreign.ints[4] = {0, static_cast<int64_t>(wire::kLastSyncKind) + 1};
  EXPECT_TRUE(SyncFrom(foreign).empty()) << "kinds that there are not";
  foreign = ToBatch(sync);
  foreign.ints[7] = {-5, kAbsent};
  EXPECT_EQ(SyncFrom(foreign)[0].wait_ns, 0) << "nobody waits for less than nothing";

  const std::vector<Site> sites{{.id = 4,
                                 .frame = 0,
                                 .address = 0x1234,
                                 .line = 12,
                                 .inlined = true,
                                 .function = "lock()",
                                 .file = "lock.h",
                                 .module = "/usr/bin/solver",
                                 .build_id = "ab12"},
                                {.id = 4, .frame = 1, .module = "/usr/bin/solver"}};
  EXPECT_EQ(SitesFrom(Through(ToBatch(sites))), sites);
  foreign = ToBatch(sites);
  foreign.ints[1] = {-1, 1 << 20};
  EXPECT_TRUE(SitesFrom(foreign).empty()) << "frames that there cannot be";
  EXPECT_EQ(ToString(ElementKind::kCommunicator), "communicator");
  EXPECT_EQ(ToString(ElementKind::kFunction), "function");
  EXPECT_EQ(ToString(MessageKind::kReceived), "received");
  EXPECT_EQ(ToString(wire::SyncKind::kReadLock), "read lock");
  EXPECT_EQ(ToString(static_cast<wire::SyncKind>(99)), "?");
}

TEST(Batch, MessagesAndCollectivesSurviveTheFrame) {
  const std::vector<Message> messages{
      {.t_ns = 900,
       .thread = 2,
       .rank = 3,
       .kind = MessageKind::kSent,
       .function = 4,
       .communicator = 5,
       .peer = 6,
       .tag = -1,
       .bytes = 1 << 20,
       .site = 7,
       .post_ns = 100,
       .wait_ns = 800,
       .wait_site = 8,
       .cpu = 1},
      {.t_ns = 901, .rank = 6, .kind = MessageKind::kReceived, .peer = 3, .post_ns = 5}};
  EXPECT_EQ(MessagesFrom(Through(ToBatch(messages))), messages);
  EXPECT_EQ(TimeExtent(ToBatch(messages)), (std::pair<int64_t, int64_t>{900, 901}));
  const std::vector<Collective> collectives{{.t_ns = 50,
                                             .thread = 2,
                                             .rank = 3,
                                             .function = 4,
                                             .communicator = 5,
                                             .sequence = 77,
                                             .root = 1,
                                             .bytes_sent = 8,
                                             .bytes_received = 16,
                                             .site = 9,
                                             .post_ns = 40,
                                             .wait_ns = 40,
                                             .cpu = 0,
                                             .communicator_rank = 1,
                                             .communicator_size = 4},
                                            {.t_ns = 60, .rank = 3}};
  EXPECT_EQ(CollectivesFrom(Through(ToBatch(collectives))), collectives);

  Batch foreign = ToBatch(messages);
  foreign.ints[3] = {0, 3};
  EXPECT_TRUE(MessagesFrom(foreign).empty()) << "neither sent nor received";
  foreign = ToBatch(messages);
  foreign.ints[0] = {INT64_MAX, -1};
  EXPECT_TRUE(MessagesFrom(foreign).empty()) << "times of which differences overflow";
  foreign = ToBatch(messages);
  foreign.ints[10] = {INT64_MAX, INT64_MIN};
  foreign.ints[8] = {-5, 5};
  const std::vector<Message> back = MessagesFrom(foreign);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].post_ns, 900) << "none is begun after its end";
  EXPECT_EQ(back[1].post_ns, 0);
  EXPECT_EQ(back[0].bytes, 0);
  foreign = ToBatch(collectives);
  foreign.ints[0] = {INT64_MIN, INT64_MAX};
  EXPECT_TRUE(CollectivesFrom(foreign).empty());
}

TEST(Batch, OlderReadersLeaveOutWhatTheyDoNotKnow) {
  Batch later = ToBatch(std::vector<Element>{{.id = 1, .kind = ElementKind::kProcess, .name = "p"},
                                             {.id = 2, .kind = ElementKind::kFunction, .name = "MPI_Send"}});
  later.ints[2][1] = static_cast<int64_t>(kLastElementKind) + 1;
  ASSERT_EQ(ElementsFrom(Through(later)).size(), 1u) << "a kind of later times";
  EXPECT_EQ(ElementsFrom(later)[0].name, "p");
  Batch unknown = ToBatch(std::vector<Collective>{{.t_ns = 60, .rank = 3}});
  unknown.table = static_cast<Table>(60);
  const Batch back = Through(unknown);
  EXPECT_EQ(back.rows, 1u) << "a table of later times is a frame as any other";
  EXPECT_EQ(FindSchema(back.table), nullptr);
}

TEST(Batch, ForeignCodesAreLeftOut) {
  Batch elements = ToBatch(std::vector<Element>{{.id = 1, .kind = ElementKind::kCpu, .name = "cpu0"}});
  elements.ints[2][0] = 999;
  EXPECT_TRUE(ElementsFrom(elements).empty());
  Batch older;  // no columns at all
  older.table = Table::kProcesses;
  older.rows = 2;
  EXPECT_TRUE(ProcessesFrom(older).empty());
}

TEST(Batch, EverySchemaHasItsTable) {
  for (const TableSchema& schema : AllSchemas()) EXPECT_EQ(FindSchema(schema.table), &schema);
  EXPECT_EQ(FindSchema(static_cast<Table>(999)), nullptr);
}

}  // namespace
}  // namespace attune::model
