#include "store/lod_builder.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/saturating.h"
#include "model/series_values.h"

namespace attune::store {
namespace {

/// Not negative.
int64_t ToInt(double value) {
  constexpr double kLimit = 9.2e18;
  const double up = value + 0.5;
  return value < kLimit ? static_cast<int64_t>(up) : static_cast<int64_t>(kLimit);
}

std::vector<LodBuilder::Column> ColumnsOf(std::span<const model::Series> series) {
  std::vector<LodBuilder::Column> columns;
  for (const model::Series& one : series)
    columns.push_back({one.kind == model::SeriesKind::kCounter, model::StepSpreader(one.max_per_second)});
  return columns;
}

}  // namespace

void LodBuilder::Cell::AddValue(int64_t value, int64_t add_sum, int64_t add_weight) {
  if (weight == 0 || value < low) low = value;
  if (weight == 0 || value > high) high = value;
  sum = SaturatingAdd(sum, add_sum);
  weight = SaturatingAdd(weight, add_weight);
}

void LodBuilder::Cell::Merge(const Cell& finer) {
  if (finer.last != model::kAbsent) last = finer.last;
  if (finer.weight == 0) return;
  if (weight == 0 || finer.low < low) low = finer.low;
  if (weight == 0 || finer.high > high) high = finer.high;
  sum = SaturatingAdd(sum, finer.sum);
  weight = SaturatingAdd(weight, finer.weight);
}

LodBuilder::LodBuilder(model::StreamId stream, std::span<const model::Series> series)
    : LodBuilder(stream, ColumnsOf(series), kLodRows) {}

LodBuilder::LodBuilder(model::StreamId stream, std::vector<Column> columns, std::span<const uint32_t> level_rows)
    : stream_(stream),
      level_rows_(level_rows),
      columns_(std::move(columns)),
      open_(level_rows.size()),
      done_(level_rows.size()) {
  for (Bucket& bucket : open_) bucket.cells.resize(columns_.size());
}

void LodBuilder::Begin() {
  for (size_t level = 0; level < done_.size(); ++level) {
    done_[level] = {};
    done_[level].table = model::LodRow::kTable;
    done_[level].stream = LodStream(stream_, level);
    done_[level].ints.resize(kLodFixedColumns + kLodSeriesColumns * columns_.size());
  }
}

std::vector<model::Batch> LodBuilder::Add(const model::Batch& samples) {
  const std::vector<std::span<const int64_t>> columns(samples.ints.begin(), samples.ints.end());
  return Add(columns);
}

std::vector<model::Batch> LodBuilder::Add(Columns columns) {
  Begin();
  const std::span<const int64_t> times = columns[0];
  size_t row = 0;
  while (row < times.size()) {
    // Rows of one time stay together, so that buckets tile the time.
    if (open_[0].parts >= level_rows_[0] && times[row] != previous_t_ns_) CloseBucket(0, times[row]);
    size_t end = row + 1;
    if (open_[0].parts < level_rows_[0]) end = std::min(times.size(), row + level_rows_[0] - open_[0].parts);
    AddRows(columns, row, end);
    row = end;
  }
  std::vector<model::Batch> batches;
  for (model::Batch& batch : done_) {
    if (batch.rows > 0) batches.push_back(std::move(batch));
  }
  return batches;
}

model::Batch LodBuilder::Finish(int64_t t1_ns) {
  Begin();
  if (open_[0].parts > 0) CloseBucket(0, t1_ns);
  return std::move(done_[0]);
}

void LodBuilder::AddRows(Columns columns, size_t first, size_t end) {
  const std::span<const int64_t> t_ns = columns[0].subspan(first, end - first);
  Bucket& bucket = open_[0];
  if (bucket.parts == 0) bucket.t0_ns = t_ns[0];
  bucket.rows += static_cast<int64_t>(t_ns.size());
  bucket.parts += static_cast<uint32_t>(t_ns.size());
  for (size_t i = 0; i < columns_.size(); ++i) AddColumn(i, t_ns, columns[i + 1].subspan(first, end - first));
  previous_t_ns_ = t_ns.back();
}

void LodBuilder::AddColumn(size_t index, std::span<const int64_t> t_ns, std::span<const int64_t> values) {
  Cell& cell = open_[0].cells[index];
  Column& column = columns_[index];
  int64_t previous_t_ns = previous_t_ns_;
  for (size_t row = 0; row < values.size(); ++row) {
    const int64_t value = values[row];
    if (column.is_counter) {
      const model::Growth growth = model::GrowthBetween(previous_t_ns, column.previous, t_ns[row], value);
      const double rate = column.steps.Next(growth).PerSecond();
      if (!std::isnan(growth.amount))
        cell.AddValue(rate > 0 ? ToInt(rate / kLodRateUnit) : 0, ToInt(growth.amount), ToInt(growth.ns));
    } else if (value != model::kAbsent) {
      cell.AddValue(value, value, 1);
    }
    if (value != model::kAbsent) cell.last = value;
    previous_t_ns = t_ns[row];
    column.previous = value;
  }
}

void LodBuilder::CloseBucket(size_t level, int64_t t1_ns) {
  Bucket& bucket = open_[level];
  auto& columns = done_[level].ints;
  columns[0].push_back(bucket.t0_ns);
  columns[1].push_back(t1_ns);
  columns[2].push_back(bucket.rows);
  for (size_t i = 0; i < bucket.cells.size(); ++i) {
    const Cell& cell = bucket.cells[i];
    size_t column = kLodFixedColumns + i * kLodSeriesColumns;
    for (const int64_t value : {cell.last, cell.low, cell.high, cell.sum, cell.weight}) {
      columns[column++].push_back(value);
    }
  }
  ++done_[level].rows;

  if (level + 1 < level_rows_.size()) {
    Bucket& coarser = open_[level + 1];
    if (coarser.parts == 0) coarser.t0_ns = bucket.t0_ns;
    coarser.rows += bucket.rows;
    ++coarser.parts;
    for (size_t i = 0; i < bucket.cells.size(); ++i) coarser.cells[i].Merge(bucket.cells[i]);
    if (coarser.parts == level_rows_[level + 1] / level_rows_[level]) CloseBucket(level + 1, t1_ns);
  }
  bucket.rows = 0;
  bucket.parts = 0;
  std::fill(bucket.cells.begin(), bucket.cells.end(), Cell());
}

}  // namespace attune::store
