#include "merge/merged_rows.h"

#include <algorithm>
#include <utility>

#include "wire/event.h"

namespace attune::merge {
model::SeriesId MergedNumbers::Series(size_t recording, int64_t id) {
  if (id <= 0) return 0;
  return series.try_emplace({recording, id}, static_cast<model::SeriesId>(series.size() + 1)).first->second;
}

model::StreamId MergedNumbers::Stream(size_t recording, model::StreamId id) {
  if (id == 0) return 0;
  return streams.try_emplace({recording, id}, static_cast<model::StreamId>(streams.size() + 1)).first->second;
}

int64_t MergedNumbers::Counted(size_t recording, int64_t number) const {
  int64_t sum = 0;
  return number <= 0 || __builtin_add_overflow(number, before[recording], &sum) ? 0 : sum;
}

void MergedNumbers::NextRecording(int64_t most) {
  before.push_back(counted);
  constexpr int64_t kMost = int64_t{1} << 48;  // a file may say anything
  counted += std::clamp<int64_t>(most, 0, kMost);
}

model::Batch MergedRows::Convert(model::Batch batch) const {
  batch.stream = numbers_.Stream(recording_, batch.stream);
  if (batch.table == model::Event::kTable) ConvertOrders(batch);
  const model::TableSchema* schema = model::FindSchema(batch.table);
  for (size_t i = 0; schema != nullptr && i < schema->columns.size(); ++i) {
    if (schema->IsText(i) || schema->places[i] >= batch.ints.size()) continue;
    for (int64_t& value : batch.ints[schema->places[i]]) value = Convert(schema->columns[i].role, value);
  }
  return batch;
}

int64_t MergedRows::Convert(model::Role role, int64_t value) const {
  switch (role) {
    case model::Role::kTime: return clock_.ToCommon(value);
    case model::Role::kElement:
    case model::Role::kElementName: return elements_.Of(recording_, value);
    case model::Role::kSeries: return numbers_.Series(recording_, value);
    case model::Role::kStream: return numbers_.Stream(recording_, static_cast<model::StreamId>(value));
    case model::Role::kCounted: return numbers_.Counted(recording_, value);
    default: return value;
  }
}

/// Converts the held lock and the site of its acquisition in kLockOrder events.
void MergedRows::ConvertOrders(model::Batch& events) const {
  constexpr size_t kKind = 2, kA = 5, kB = 6;
  if (events.ints.size() <= kB) return;
  for (size_t row = 0; row < events.rows; ++row) {
    if (events.ints[kKind][row] != static_cast<int64_t>(wire::EventKind::kLockOrder)) continue;
    for (const size_t column : {kA, kB}) events.ints[column][row] = elements_.Of(recording_, events.ints[column][row]);
  }
}

}  // namespace attune::merge
