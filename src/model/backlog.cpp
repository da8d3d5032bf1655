#include "model/backlog.h"

#include <map>
#include <span>

namespace attune::model {
namespace {

/// How many rows of the table a row makes.
template <class Row>
size_t TableRows(const Row&) {
  return 1;
}
size_t TableRows(const Stream& stream) { return stream.series.size(); }

/// In parts that make frames of a moderate size.
template <class Row>
void AddBatches(std::vector<BatchPtr>& batches, const std::vector<Row>& rows) {
  constexpr size_t kRowsABatch = 16'384;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin;
    for (size_t count = 0; end < rows.size() && count < kRowsABatch; ++end) count += TableRows(rows[end]);
    const auto part = std::span(rows).subspan(begin, end - begin);
    batches.push_back(std::make_shared<const Batch>(ToBatch(part)));
    begin = end;
  }
}

/// Earlier rows that still hold: of most appended ones, none.
template <class Row>
std::vector<Row> StillTrue(const std::vector<Row>&) {
  return {};
}
/// Alarms that are on.
std::vector<Alarm> StillTrue(const std::vector<Alarm>& alarms) {
  std::map<int64_t, Alarm> raised;
  for (const Alarm& alarm : alarms) {
    if (alarm.state == AlarmState::kRaised) {
      raised.emplace(alarm.id, alarm);
    } else {
      raised.erase(alarm.id);
    }
  }
  std::vector<Alarm> rows;
  for (const auto& [id, alarm] : raised) rows.push_back(alarm);
  return rows;
}

}  // namespace

std::vector<BatchPtr> BacklogOf(const Metadata& metadata) {
  const std::vector<std::pair<std::string, std::string>> info(metadata.info.begin(), metadata.info.end());
  std::vector<BatchPtr> batches{std::make_shared<const Batch>(InfoBatch(info))};
  Metadata::ForEachTable([&]<class Row>(std::vector<Row> Metadata::* member) {
    if constexpr (Row::kText.storage == Storage::kReplaced) {
      AddBatches(batches, metadata.*member);
    } else {
      AddBatches(batches, StillTrue(metadata.*member));
    }
  });
  return batches;
}

}  // namespace attune::model
