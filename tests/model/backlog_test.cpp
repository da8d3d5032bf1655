#include "model/backlog.h"

#include <gmock/gmock.h>

namespace attune::model {
namespace {

TEST(Backlog, HasWhatRowsToComeReferTo) {
  Metadata metadata;
  metadata.info = {{"host", "node"}};
  metadata.elements.assign(40'000, {1, 0, ElementKind::kMachine, kAbsent, kAbsent, kAbsent, "node", "node"});
  metadata.streams = {{1, 1000, std::vector<SeriesId>(20'000, 7)}, {2, 1000, {7, 8}}};
  metadata.labels = {{5, "before"}};
  metadata.sites = {{.id = 9, .module = "/usr/bin/solver"}};
  Alarm alarm;
  alarm.id = 1;
  metadata.alarms.push_back(alarm);
  alarm.id = 2;
  metadata.alarms.push_back(alarm);
  alarm.id = 1;
  alarm.state = AlarmState::kCleared;
  metadata.alarms.push_back(alarm);

  size_t elements = 0;
  std::vector<Stream> streams;
  std::vector<Alarm> alarms;
  std::vector<Table> tables;
  for (const BatchPtr& batch : BacklogOf(metadata)) {
    if (tables.empty() || tables.back() != batch->table) tables.push_back(batch->table);
    EXPECT_LE(batch->rows, 36'384u) << "a frame of moderate size";
    elements += model::RowsFrom<model::Element>(*batch).size() * (batch->table == model::Element::kTable ? 1 : 0);
    if (batch->table == model::Alarm::kTable) alarms = model::RowsFrom<model::Alarm>(*batch);
    if (batch->table != model::StreamColumn::kTable) continue;
    for (Stream& stream : RowsFrom<Stream>(*batch)) streams.push_back(std::move(stream));
  }
  EXPECT_THAT(tables, testing::ElementsAre(model::InfoRow::kTable, model::Element::kTable, model::StreamColumn::kTable,
                                           model::Site::kTable, model::Alarm::kTable));
  EXPECT_EQ(elements, 40'000u);
  EXPECT_EQ(streams, metadata.streams) << "the columns of a stream stay together";
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].id, 2) << "the one that is on";
}

}  // namespace
}  // namespace attune::model
