#include "session/merged_rows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "wire/event.h"

namespace attune::session {
namespace {

using model::Table;

/// What a column of integers is.
enum class Role : uint8_t {
  kPlain,
  kTime,
  kElement,
  kStack,
};

/// Of the columns of a table, in their order; those behind them are plain.
std::span<const Role> RolesOf(Table table) {
  using enum Role;
  static constexpr Role kSamples[]{kTime};
  // time, thread, kind, object, site
  static constexpr Role kEvents[]{kTime, kElement, kPlain, kElement, kElement};
  // time, thread, object, site
  static constexpr Role kSync[]{kTime, kElement, kElement, kElement};
  // time, thread, cpu, site, stack
  static constexpr Role kCpuSamples[]{kTime, kElement, kPlain, kElement, kStack};
  // time, thread, cpu, site
  static constexpr Role kAccesses[]{kTime, kElement, kPlain, kElement};
  // id, parent, site
  static constexpr Role kStacks[]{kStack, kStack, kElement};
  // time, thread, rank, kind, function, communicator, peer, tag, bytes, site, posting, waiting, its site
  static constexpr Role kMessages[]{kTime,  kElement, kElement, kPlain, kElement, kElement, kElement,
                                    kPlain, kPlain,   kElement, kTime,  kTime,    kElement};
  // time, thread, rank, function, communicator, sequence, root, bytes, bytes, site, posting, waiting
  static constexpr Role kCollectives[]{kTime,  kElement, kElement, kElement, kElement, kPlain,
                                       kPlain, kPlain,   kPlain,   kElement, kTime,    kTime};
  switch (table) {
    case Table::kSamples: return kSamples;
    case Table::kEvents: return kEvents;
    case Table::kSync: return kSync;
    case Table::kCpuSamples: return kCpuSamples;
    case Table::kAccesses: return kAccesses;
    case Table::kStacks: return kStacks;
    case Table::kMessages: return kMessages;
    case Table::kCollectives: return kCollectives;
    default: return {};
  }
}

}  // namespace

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
  const std::span<const Role> roles = RolesOf(batch.table);
  if (batch.table == Table::kEvents) ConvertOrders(batch);
  for (size_t column = 0; column < std::min(roles.size(), batch.ints.size()); ++column) {
    for (int64_t& value : batch.ints[column]) {
      switch (roles[column]) {
        case Role::kPlain: break;
        case Role::kTime: value = Time(value); break;
        case Role::kElement: value = elements_.Of(recording_, value); break;
        case Role::kStack: value = numbers_.Counted(recording_, value); break;
      }
    }
  }
  return batch;
}

/// What a thread had, and since where, when it asked for a lock.
void MergedRows::ConvertOrders(model::Batch& events) const {
  constexpr size_t kKind = 2, kA = 5, kB = 6;
  if (events.ints.size() <= kB) return;
  for (size_t row = 0; row < events.rows; ++row) {
    if (events.ints[kKind][row] != static_cast<int64_t>(wire::EventKind::kLockOrder)) continue;
    for (const size_t column : {kA, kB}) events.ints[column][row] = elements_.Of(recording_, events.ints[column][row]);
  }
}

model::Series MergedRows::Convert(model::Series row) const {
  row.id = numbers_.Series(recording_, row.id);
  row.element = Element(row.element);
  return row;
}

model::Stream MergedRows::Convert(model::Stream row) const {
  row.id = numbers_.Stream(recording_, row.id);
  for (model::SeriesId& series : row.series) series = numbers_.Series(recording_, series);
  return row;
}

model::Process MergedRows::Convert(model::Process row) const {
  row.id = Element(row.id);
  row.parent = Element(row.parent);
  row.start_ns = Time(row.start_ns);
  row.end_ns = Time(row.end_ns);
  return row;
}

model::Label MergedRows::Convert(model::Label row) const {
  row.t_ns = Time(row.t_ns);
  return row;
}

model::Alarm MergedRows::Convert(model::Alarm row) const {
  row.t_ns = Time(row.t_ns);
  row.id = numbers_.Counted(recording_, row.id);
  row.element = Element(row.element);
  row.series = numbers_.Series(recording_, row.series);
  return row;
}

model::Site MergedRows::Convert(model::Site row) const {
  row.id = Element(row.id);
  return row;
}

model::Gap MergedRows::Convert(model::Gap row) const {
  row.stream = numbers_.Stream(recording_, row.stream);
  row.t0_ns = Time(row.t0_ns);
  row.t1_ns = Time(row.t1_ns);
  return row;
}

}  // namespace attune::session
