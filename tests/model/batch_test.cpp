#include <gtest/gtest.h>

#include <set>

#include "model/codec.h"
#include "model/schema.h"

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
  const auto back = model::RowsFrom<model::Process>(Through(ToBatch(processes)));
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].pid, 4711);
  EXPECT_EQ(back[0].exit_code, 3);
  EXPECT_EQ(back[0].end_ns, kAbsent);
  EXPECT_EQ(back[0].command, "xz -9");

  const std::vector<Stream> streams{{1, 1'000'000, {3, 4, 5}}, {2, 0, {9}}};
  const auto streams_back = RowsFrom<Stream>(Through(ToBatch(streams)));
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
  EXPECT_EQ(model::RowsFrom<model::Alarm>(Through(ToBatch(rows))), rows);

  Batch foreign = ToBatch(rows);
  foreign.ints[2] = {0, 3};
  EXPECT_TRUE(model::RowsFrom<model::Alarm>(foreign).empty()) << "states that there are not";
  foreign = ToBatch(rows);
  foreign.ints[8] = {400, -400};
  EXPECT_TRUE(model::RowsFrom<model::Alarm>(foreign).empty()) << "scales that there cannot be";
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
  EXPECT_EQ(model::RowsFrom<model::Sync>(Through(ToBatch(sync))), sync);
  EXPECT_EQ(TimeExtent(ToBatch(sync)), (std::pair<int64_t, int64_t>{5, 6}));
  Batch foreign = ToBatch(sync);
  foreign.ints[4] = {0, static_cast<int64_t>(wire::kLastSyncKind) + 1};
  EXPECT_TRUE(model::RowsFrom<model::Sync>(foreign).empty()) << "kinds that there are not";
  foreign = ToBatch(sync);
  foreign.ints[7] = {-5, kAbsent};
  EXPECT_EQ(model::RowsFrom<model::Sync>(foreign)[0].wait_ns, 0) << "nobody waits for less than nothing";

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
  EXPECT_EQ(model::RowsFrom<model::Site>(Through(ToBatch(sites))), sites);
  foreign = ToBatch(sites);
  foreign.ints[1] = {-1, 1 << 20};
  EXPECT_TRUE(model::RowsFrom<model::Site>(foreign).empty()) << "frames that there cannot be";
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
  EXPECT_EQ(model::RowsFrom<model::Message>(Through(ToBatch(messages))), messages);
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
  EXPECT_EQ(model::RowsFrom<model::Collective>(Through(ToBatch(collectives))), collectives);

  Batch foreign = ToBatch(messages);
  foreign.ints[3] = {0, 3};
  EXPECT_TRUE(model::RowsFrom<model::Message>(foreign).empty()) << "neither sent nor received";
  foreign = ToBatch(messages);
  foreign.ints[0] = {INT64_MAX, -1};
  EXPECT_TRUE(model::RowsFrom<model::Message>(foreign).empty()) << "times of which differences overflow";
  foreign = ToBatch(messages);
  foreign.ints[10] = {INT64_MAX, INT64_MIN};
  foreign.ints[8] = {-5, 5};
  const std::vector<Message> back = model::RowsFrom<model::Message>(foreign);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].post_ns, 900) << "none is begun after its end";
  EXPECT_EQ(back[1].post_ns, 0);
  EXPECT_EQ(back[0].bytes, 0);
  foreign = ToBatch(collectives);
  foreign.ints[0] = {INT64_MIN, INT64_MAX};
  EXPECT_TRUE(model::RowsFrom<model::Collective>(foreign).empty());
}

TEST(Batch, OlderReadersLeaveOutWhatTheyDoNotKnow) {
  Batch later = ToBatch(std::vector<Element>{{.id = 1, .kind = ElementKind::kProcess, .name = "p"},
                                             {.id = 2, .kind = ElementKind::kFunction, .name = "MPI_Send"}});
  later.ints[2][1] = static_cast<int64_t>(kLastElementKind) + 1;
  ASSERT_EQ(model::RowsFrom<model::Element>(Through(later)).size(), 1u) << "a kind of later times";
  EXPECT_EQ(model::RowsFrom<model::Element>(later)[0].name, "p");
  Batch unknown = ToBatch(std::vector<Collective>{{.t_ns = 60, .rank = 3}});
  unknown.table = static_cast<Table>(60);
  const Batch back = Through(unknown);
  EXPECT_EQ(back.rows, 1u) << "a table of later times is a frame as any other";
  EXPECT_EQ(FindSchema(back.table), nullptr);
}

TEST(Batch, ForeignCodesAreLeftOut) {
  Batch elements = ToBatch(std::vector<Element>{{.id = 1, .kind = ElementKind::kCpu, .name = "cpu0"}});
  elements.ints[2][0] = 999;
  EXPECT_TRUE(model::RowsFrom<model::Element>(elements).empty());
  Batch older;  // no columns at all
  older.table = model::Process::kTable;
  older.rows = 2;
  EXPECT_TRUE(model::RowsFrom<model::Process>(older).empty());
}

TEST(Batch, FindingsAndDecisionsSurviveTheFrame) {
  const std::vector<Finding> findings{{.t_ns = 9,
                                       .t0_ns = 1,
                                       .t1_ns = 8,
                                       .state = FindingState::kClosed,
                                       .revision = 3,
                                       .cost_ns = 5,
                                       .share_ppm = 700'000,
                                       .object = 2,
                                       .site = 4,
                                       .id = "lock-contention/solver.c:34/2",
                                       .finding_class = "lock-contention",
                                       .title = "one lock",
                                       .advice = "two",
                                       .evidence = "waits"}};
  EXPECT_EQ(RowsFrom<Finding>(Through(ToBatch(findings))), findings);
  const std::vector<Decision> decisions{{.t_ns = 9,
                                         .id = 1,
                                         .state = DecisionState::kKept,
                                         .gain_ppm = -5,
                                         .tunlet = "threads",
                                         .knob = "omp.threads",
                                         .before = "8",
                                         .after = "4"}};
  EXPECT_EQ(RowsFrom<Decision>(Through(ToBatch(decisions))), decisions);
}

TEST(Batch, WhatOlderRecordingsLackHasADefault) {
  Batch older = ToBatch(std::vector<Series>{{.id = 1, .sensor = "cpu", .sum = SumRule::kMax}});
  older.ints.pop_back();
  ASSERT_EQ(RowsFrom<Series>(older).size(), 1u);
  EXPECT_EQ(RowsFrom<Series>(older)[0].sum, SumRule::kSum);
}

TEST(Batch, EverySchemaIsWhole) {
  std::set<std::string_view> names;
  for (const TableSchema& schema : AllSchemas()) {
    EXPECT_TRUE(names.insert(schema.text.name).second) << schema.text.name;
    EXPECT_FALSE(schema.text.about.empty()) << schema.text.name;
    EXPECT_EQ(schema.text.time.empty(), schema.time_column < 0) << schema.text.name << " has no column of that name";
    EXPECT_EQ(schema.text.key.empty(), !schema.FindColumn(schema.text.key)) << schema.text.name;
    std::set<std::pair<bool, size_t>> places;
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      const ColumnSchema& column = schema.columns[i];
      EXPECT_FALSE(column.about.empty()) << schema.text.name << "." << column.name;
      EXPECT_TRUE(places.emplace(schema.IsText(i), schema.places[i]).second) << schema.text.name << "." << column.name;
      const bool is_code = column.role == Role::kCode || column.role == Role::kLateCode;
      EXPECT_EQ(is_code, !column.words.empty()) << schema.text.name << "." << column.name;
    }
  }
}

TEST(Batch, EverySchemaHasItsTable) {
  for (const TableSchema& schema : AllSchemas()) EXPECT_EQ(FindSchema(schema.table), &schema);
  EXPECT_EQ(FindSchema(static_cast<Table>(999)), nullptr);
}

}  // namespace
}  // namespace attune::model
