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
  EXPECT_EQ(ToString(wire::SyncKind::kReadLock), "read lock");
  EXPECT_EQ(ToString(static_cast<wire::SyncKind>(99)), "?");
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
