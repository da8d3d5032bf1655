#include "store/lod_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "model/series_values.h"
#include "store/lod_builder.h"

namespace attune::store {
namespace {

using model::SeriesId;
using model::SeriesView;
using model::TimeRange;
using Columns = std::span<const std::span<const int64_t>>;

constexpr uint32_t kMaxPixels = 32768;
constexpr double kSecondsPerNs = 1e-9;
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

/// Times may be anything in a foreign file: differences are taken without a sign.
uint64_t Length(TimeRange range) { return static_cast<uint64_t>(range.t1_ns) - static_cast<uint64_t>(range.t0_ns); }

__int128 FloorDivide(int64_t value, uint64_t by) {
  const __int128 divisor = by;
  const __int128 quotient = value / divisor;
  return quotient - (value % divisor < 0 ? 1 : 0);
}

/// `whole` without `holes`, which are in order and lie inside.
std::vector<TimeRange> Without(std::span<const TimeRange> whole, std::span<const TimeRange> holes) {
  std::vector<TimeRange> rest;
  size_t hole = 0;
  for (TimeRange range : whole) {
    for (; hole < holes.size() && holes[hole].t0_ns < range.t1_ns; ++hole) {
      if (holes[hole].t0_ns > range.t0_ns) rest.push_back({range.t0_ns, holes[hole].t0_ns});
      range.t0_ns = holes[hole].t1_ns;
    }
    if (range.t0_ns < range.t1_ns) rest.push_back(range);
  }
  return rest;
}

bool OverlapsAny(std::span<const TimeRange> ranges, int64_t first_ns, int64_t last_ns) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const TimeRange& range) { return first_ns < range.t1_ns && last_ns >= range.t0_ns; });
}

/// The blocks that overlap `ranges`, and the one before each, whose last row its first rate needs.
StreamRows Restrict(const StreamRows& rows, std::span<const TimeRange> ranges) {
  StreamRows result;
  result.file = rows.file;
  std::vector<bool> frame_needed(rows.frames.size() + rows.pending.size());
  for (size_t i = 0; i < frame_needed.size(); ++i) {
    int64_t first = 0;
    int64_t last = 0;
    if (i < rows.frames.size()) {
      first = rows.frames[i].first_ns;
      last = rows.frames[i].last_ns;
    } else {
      std::tie(first, last) = model::TimeExtent(*rows.pending[i - rows.frames.size()]);
    }
    if (!OverlapsAny(ranges, first, last)) continue;
    frame_needed[i] = true;
    if (i > 0) frame_needed[i - 1] = true;
  }
  for (size_t i = 0; i < rows.frames.size(); ++i) {
    if (frame_needed[i]) result.frames.push_back(rows.frames[i]);
  }
  for (size_t i = 0; i < rows.pending.size(); ++i) {
    if (frame_needed[rows.frames.size() + i]) result.pending.push_back(rows.pending[i]);
  }
  return result;
}

/// Leaves out frames whose buckets are on average far too long for the bins; it saves reading them only to find out.
StreamRows WithoutCoarse(const StreamRows& lod, uint64_t bin_ns) {
  StreamRows result = lod;
  std::erase_if(result.frames, [&](const FrameRef& ref) {
    return ref.rows > 1 && Length({ref.first_ns, ref.last_ns}) / (ref.rows - 1) / 4 > bin_ns;
  });
  return result;
}

/// Factors of rates, one a row: the same for all columns of a stream, so that a value needs no division of its own.
class RateFactors {
 public:
  /// 1 / seconds since the row before. @param t_ns of the next rows
  std::span<const double> Of(std::span<const int64_t> t_ns) {
    factors_.clear();
    for (const int64_t t : t_ns) {
      factors_.push_back(1e9 / model::GrowthBetween(last_ns_, 0, t, 0).ns);
      last_ns_ = t;
    }
    return factors_;
  }

 private:
  int64_t last_ns_ = 0;
  std::vector<double> factors_;
};

/// A series's value at each row: the level, or the rate since the row before.
class ValueReader {
 public:
  explicit ValueReader(const ViewColumn& column) : is_counter_(column.is_counter), steps_(column.max_per_second) {}

  /// @param per_second of RateFactors
  ViewValue Next(int64_t t_ns, int64_t value, double per_second) {
    ViewValue result;
    if (is_counter_) {
      const model::Growth growth = model::GrowthBetween(t_ns_, value_, t_ns, value);
      const double rate = steps_.Next(growth).amount * per_second;
      if (!std::isnan(growth.amount)) result = {rate, growth.amount, growth.ns * kSecondsPerNs};
      t_ns_ = t_ns;
      value_ = value;
    } else if (value != model::kAbsent) {
      result = {static_cast<double>(value), static_cast<double>(value), 1};
    }
    return result;
  }

 private:
  bool is_counter_;
  model::StepSpreader steps_;
  int64_t t_ns_ = 0;
  int64_t value_ = model::kAbsent;
};

/// Column 0 (the time) and the wanted ones.
std::vector<uint32_t> SampleColumns(std::span<const ViewColumn> columns) {
  std::vector<uint32_t> wanted{0};
  for (const ViewColumn& column : columns) wanted.push_back(column.column + 1);
  return wanted;
}

/// Columns of a series that views need: all but the first, the last value.
constexpr size_t kViewedColumns = kLodSeriesColumns - 1;

/// The fixed columns of buckets, and those of the wanted series.
std::vector<uint32_t> LodColumns(std::span<const ViewColumn> columns) {
  std::vector<uint32_t> wanted{0, 1, 2};
  for (const ViewColumn& column : columns) {
    for (uint32_t i = kLodSeriesColumns - kViewedColumns; i < kLodSeriesColumns; ++i)
      wanted.push_back(static_cast<uint32_t>(kLodFixedColumns + column.column * kLodSeriesColumns) + i);
  }
  return wanted;
}

/// The same columns of buckets of the wanted series alone.
std::vector<std::span<const int64_t>> ViewedColumns(const model::Batch& buckets) {
  std::vector<std::span<const int64_t>> viewed;
  for (size_t i = 0; i < buckets.ints.size(); ++i) {
    const bool is_last = i >= kLodFixedColumns && (i - kLodFixedColumns) % kLodSeriesColumns == 0;
    if (!is_last) viewed.emplace_back(buckets.ints[i]);
  }
  return viewed;
}

bool IsOf(const FrameRef& ref, std::span<const int64_t> t_ns) {
  return t_ns.size() == ref.rows && !t_ns.empty() && t_ns.front() == ref.first_ns && t_ns.back() == ref.last_ns;
}

/// Columns as they are kept: in one piece of memory.
std::vector<model::DecodedColumn> Kept(Columns block) {
  const size_t rows = block[0].size();
  const std::shared_ptr<int64_t[]> all(new int64_t[rows * block.size()]);
  std::vector<model::DecodedColumn> columns;
  for (size_t i = 0; i < block.size(); ++i) {
    std::ranges::copy(block[i], all.get() + i * rows);
    columns.push_back({std::shared_ptr<const int64_t[]>(all, all.get() + i * rows), rows});
  }
  return columns;
}

std::vector<ValueReader> Readers(std::span<const ViewColumn> columns) {
  std::vector<ValueReader> readers;
  for (const ViewColumn& column : columns) readers.emplace_back(column);
  return readers;
}

uint64_t BinLength(TimeRange range, uint32_t pixels) {
  const uint64_t length = Length(range);
  return std::max<uint64_t>(1, length / pixels + (length % pixels != 0 ? 1 : 0));
}

}  // namespace

const TimeRange* RangeCursor::Find(int64_t t_ns) {
  const auto holds = [t_ns](const TimeRange& range) { return t_ns >= range.t0_ns && t_ns < range.t1_ns; };
  if (at_ < ranges_.size() && holds(ranges_[at_])) return &ranges_[at_];
  const auto found = std::upper_bound(ranges_.begin(), ranges_.end(), t_ns,
                                      [](int64_t wanted, const TimeRange& range) { return wanted < range.t1_ns; });
  at_ = static_cast<size_t>(found - ranges_.begin());
  return at_ < ranges_.size() && holds(ranges_[at_]) ? &ranges_[at_] : nullptr;
}

ViewBuilder::ViewBuilder(std::span<const SeriesId> series, TimeRange range, uint32_t pixels, VisitBlocksFn visit_blocks,
                         ColumnCache& fine)
    : range_(range),
      bin_ns_(BinLength(range, std::min(pixels, kMaxPixels))),
      max_exact_(size_t{2} * std::min(pixels, kMaxPixels)),
      bin_count_(static_cast<size_t>(FloorDivide(range.t1_ns - 1, bin_ns_) - FloorDivide(range.t0_ns, bin_ns_)) + 1),
      visit_blocks_(std::move(visit_blocks)),
      fine_(fine),
      views_(series.size()),
      bins_(series.size()),
      steps_(series.size()) {
  for (size_t i = 0; i < series.size(); ++i) views_[i].series = series[i];
}

std::vector<SeriesView> ViewBuilder::Build(std::span<const ViewStream> streams) {
  std::vector<int64_t> rows_of_view(views_.size());
  for (const ViewStream& stream : streams) {
    const int64_t rows = CountRows(stream.samples);
    for (const ViewColumn& column : stream.columns) rows_of_view[column.view] += rows;
  }
  for (size_t i = 0; i < views_.size(); ++i) {
    views_[i].exact = rows_of_view[i] <= static_cast<int64_t>(max_exact_);
    if (!views_[i].exact) bins_[i].resize(bin_count_);
  }
  for (const ViewStream& stream : streams) {
    for (const ViewColumn& column : stream.columns) {
      if (column.is_counter) steps_[column.view] = model::StepSpreader(column.max_per_second);
    }
    std::vector<ViewColumn> exact;
    std::vector<ViewColumn> binned;
    for (const ViewColumn& column : stream.columns) {
      (views_[column.view].exact ? exact : binned).push_back(column);
    }
    if (!exact.empty()) AddExact(stream, exact);
    if (!binned.empty()) AddBins(stream, binned);
  }
  for (size_t i = 0; i < views_.size(); ++i) {
    if (views_[i].exact) {
      FinishExact(views_[i]);
    } else {
      FinishBins(i);
    }
  }
  // Scales are applied last; a series has one, whatever stream it is in.
  std::vector<double> scales(views_.size(), 1);
  for (const ViewStream& stream : streams) {
    for (const ViewColumn& column : stream.columns) scales[column.view] = column.scale;
  }
  for (size_t i = 0; i < views_.size(); ++i) {
    for (auto* values : {&views_[i].low, &views_[i].high, &views_[i].mean}) {
      for (double& value : *values) value *= scales[i];
    }
  }
  return std::move(views_);
}

int64_t ViewBuilder::CountRows(const StreamRows& rows) const {
  int64_t count = 0;
  StreamRows partial;
  partial.file = rows.file;
  partial.pending = rows.pending;
  for (const FrameRef& ref : rows.frames) {
    if (ref.first_ns >= range_.t0_ns && ref.last_ns < range_.t1_ns) {
      count += ref.rows;
    } else {
      partial.frames.push_back(ref);
    }
  }
  constexpr uint32_t kTime = 0;
  visit_blocks_(partial, {&kTime, 1}, [&](Columns block) {
    for (const int64_t t_ns : block[0]) count += t_ns >= range_.t0_ns && t_ns < range_.t1_ns ? 1 : 0;
    return true;
  });
  return count;
}

void ViewBuilder::AddExact(const ViewStream& stream, std::span<const ViewColumn> columns) {
  std::vector<ValueReader> readers = Readers(columns);
  RateFactors rate_factors;
  visit_blocks_(stream.samples, SampleColumns(columns), [&](Columns block) {
    const std::span<const double> per_second = rate_factors.Of(block[0]);
    for (size_t i = 0; i < columns.size(); ++i) {
      SeriesView& view = views_[columns[i].view];
      for (size_t row = 0; row < block[0].size(); ++row) {
        const int64_t t_ns = block[0][row];
        const double value = readers[i].Next(t_ns, block[i + 1][row], per_second[row]).shown;
        if (t_ns < range_.t0_ns || t_ns >= range_.t1_ns) continue;
        view.t_ns.push_back(t_ns);
        view.mean.push_back(value);
      }
    }
    return true;
  });
}

void ViewBuilder::FinishExact(SeriesView& view) const {
  if (!std::is_sorted(view.t_ns.begin(), view.t_ns.end())) {  // a series of two streams that overlap
    std::vector<size_t> order(view.t_ns.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return view.t_ns[a] < view.t_ns[b]; });
    SeriesView sorted;
    for (const size_t i : order) {
      sorted.t_ns.push_back(view.t_ns[i]);
      sorted.mean.push_back(view.mean[i]);
    }
    view.t_ns = std::move(sorted.t_ns);
    view.mean = std::move(sorted.mean);
  }
  view.count.assign(view.t_ns.size(), 1);
  view.low = view.mean;
  view.high = view.mean;
}

size_t ViewBuilder::BinOf(int64_t t_ns) const {
  return static_cast<size_t>(FloorDivide(t_ns, bin_ns_) - FloorDivide(range_.t0_ns, bin_ns_));
}

void ViewBuilder::AddBins(const ViewStream& stream, std::span<const ViewColumn> columns) {
  std::vector<TimeRange> uncovered{range_};
  for (size_t level = kLodLevels; level-- > 0;) {
    uncovered = AddLevel(stream.lod[level], stream.first_ns, columns, uncovered);
  }
  uncovered = AddFine(stream.samples, columns, uncovered);
  AddRaw(Restrict(stream.samples, uncovered), columns, uncovered);
}

std::vector<TimeRange> ViewBuilder::AddLevel(const StreamRows& lod, int64_t first_ns,
                                             std::span<const ViewColumn> columns,
                                             std::span<const TimeRange> uncovered) {
  std::vector<TimeRange> covered;
  RangeCursor cursor(uncovered);
  visit_blocks_(WithoutCoarse(lod, bin_ns_), LodColumns(columns), [&](Columns block) {
    AddBuckets(block, first_ns, columns, cursor, covered);
    return true;
  });
  return Without(uncovered, covered);
}

void ViewBuilder::AddBuckets(Columns block, int64_t first_ns, std::span<const ViewColumn> columns, RangeCursor& cursor,
                             std::vector<TimeRange>& covered) {
  for (size_t row = 0; row < block[0].size(); ++row) {
    const TimeRange bucket{block[0][row], block[1][row]};
    const int64_t rows = block[2][row];
    const bool fits = bucket.t0_ns < bucket.t1_ns && Length(bucket) <= bin_ns_ && rows > 0 &&
                      bucket.t0_ns >= first_ns && (covered.empty() || bucket.t0_ns >= covered.back().t1_ns);
    const TimeRange* around = fits ? cursor.Find(bucket.t0_ns) : nullptr;
    if (around == nullptr || bucket.t1_ns > around->t1_ns) continue;
    covered.push_back(bucket);
    const size_t bin_index = BinOf(bucket.t0_ns);
    for (size_t i = 0; i < columns.size(); ++i) {
      Bin& bin = bins_[columns[i].view][bin_index];
      bin.count += rows;
      const auto cell = [&](size_t column) {
        return static_cast<double>(block[kLodFixedColumns + i * kViewedColumns + column][row]);
      };
      const double weight = cell(3) * (columns[i].is_counter ? kSecondsPerNs : 1);
      if (!(weight > 0)) continue;
      const double unit = columns[i].is_counter ? kLodRateUnit : 1;
      bin.low = bin.weight > 0 ? std::min(bin.low, cell(0) * unit) : cell(0) * unit;
      bin.high = bin.weight > 0 ? std::max(bin.high, cell(1) * unit) : cell(1) * unit;
      bin.sum += cell(2);
      bin.weight += weight;
    }
  }
}

std::vector<size_t> ViewBuilder::FineFrames(std::span<const FrameRef> frames, std::span<const TimeRange> uncovered,
                                            size_t columns) const {
  std::vector<size_t> found;
  uint64_t bytes = 0;
  // The frame before gives the first growth, the one behind says that no row there has the same time.
  for (size_t i = 1; i + 1 < frames.size(); ++i) {
    const FrameRef& ref = frames[i];
    if (ref.rows < 2 || ref.first_ns <= frames[i - 1].last_ns || ref.last_ns >= frames[i + 1].first_ns) continue;
    const uint64_t row_ns = Length({ref.first_ns, ref.last_ns}) / (ref.rows - 1);
    if (row_ns * kFineLodRows[0] > bin_ns_ || !OverlapsAny(uncovered, ref.first_ns, ref.last_ns)) continue;
    found.push_back(i);
    bytes += ColumnCache::Cost(ref.rows / kFineLodRows[0] + 1) * kViewedColumns * columns;
  }
  if (bytes > fine_.max_bytes()) found.clear();
  return found;
}

std::vector<TimeRange> ViewBuilder::AddFine(const StreamRows& samples, std::span<const ViewColumn> columns,
                                            std::span<const TimeRange> uncovered) {
  std::vector<TimeRange> covered;
  RangeCursor cursor(uncovered);
  const std::vector<uint32_t> lod_columns = LodColumns(columns);
  StreamRows read;  // frames without fine buckets, and the one before each
  read.file = samples.file;
  std::vector<bool> is_made;
  size_t last_read = 0;
  for (const size_t i : FineFrames(samples.frames, uncovered, columns.size())) {
    std::vector<model::DecodedColumn> kept(lod_columns.size());
    fine_.Find({samples.file->id(), samples.frames[i].offset}, lod_columns, kept);
    if (std::ranges::all_of(kept, [](const auto& column) { return column.values != nullptr; })) {
      std::vector<std::span<const int64_t>> block;
      for (const model::DecodedColumn& column : kept) block.push_back(column.span());
      AddBuckets(block, INT64_MIN, columns, cursor, covered);
      continue;
    }
    if (last_read + 1 != i || read.frames.empty()) {
      read.frames.push_back(samples.frames[i - 1]);
      is_made.push_back(false);
    }
    read.frames.push_back(samples.frames[i]);
    is_made.push_back(true);
    last_read = i;
  }
  if (!read.frames.empty()) {
    std::vector<TimeRange> made;
    MakeFine(read, is_made, columns, [&](const FrameRef& ref, const model::Batch& buckets) {
      const std::vector<std::span<const int64_t>> block = ViewedColumns(buckets);
      fine_.Keep({samples.file->id(), ref.offset}, lod_columns, Kept(block));
      AddBuckets(block, INT64_MIN, columns, cursor, made);
    });
    covered.insert(covered.end(), made.begin(), made.end());
    std::ranges::sort(covered, {}, &TimeRange::t0_ns);
  }
  return Without(uncovered, covered);
}

/// Reads frames of samples and gives the fine buckets of those that `is_made` names.
void ViewBuilder::MakeFine(const StreamRows& frames, const std::vector<bool>& is_made,
                           std::span<const ViewColumn> columns,
                           const std::function<void(const FrameRef&, const model::Batch&)>& take) {
  std::vector<LodBuilder::Column> of_builder;
  for (const ViewColumn& column : columns)
    of_builder.push_back({column.is_counter, model::StepSpreader(column.max_per_second)});
  std::optional<LodBuilder> builder;
  size_t at = 0;
  visit_blocks_(frames, SampleColumns(columns), [&](Columns block) {
    // A frame that cannot be read is left out: what comes behind it has no frame before it.
    const size_t expected = at;
    while (at < frames.frames.size() && !IsOf(frames.frames[at], block[0])) ++at;
    if (at == frames.frames.size()) return false;
    if (is_made[at] && at == expected && builder && std::ranges::is_sorted(block[0])) {
      std::vector<model::Batch> batches = builder->Add(block);
      model::Batch rest = builder->Finish(frames.frames[at].last_ns + 1);
      if (batches.empty()) {
        take(frames.frames[at], rest);
      } else {
        for (size_t i = 0; i < rest.ints.size(); ++i)
          batches[0].ints[i].insert(batches[0].ints[i].end(), rest.ints[i].begin(), rest.ints[i].end());
        take(frames.frames[at], batches[0]);
      }
    } else {
      builder.emplace(0, of_builder, kFineLodRows);
      std::vector<std::span<const int64_t>> last_row;
      for (const auto& column : block) last_row.push_back(column.last(1));
      builder->Add(last_row);
      builder->Finish(INT64_MAX);
    }
    ++at;
    return true;
  });
}

void ViewBuilder::AddRaw(const StreamRows& samples, std::span<const ViewColumn> columns,
                         std::span<const TimeRange> uncovered) {
  std::vector<ValueReader> readers = Readers(columns);
  RateFactors rate_factors;
  RangeCursor cursor(uncovered);
  constexpr size_t kNotWanted = SIZE_MAX;
  std::vector<size_t> bin_of_row;
  visit_blocks_(samples, SampleColumns(columns), [&](Columns block) {
    const std::span<const double> per_second = rate_factors.Of(block[0]);
    bin_of_row.clear();
    for (const int64_t t_ns : block[0]) bin_of_row.push_back(cursor.Find(t_ns) != nullptr ? BinOf(t_ns) : kNotWanted);
    // Column by column, as the values lie in memory.
    for (size_t i = 0; i < columns.size(); ++i) {
      std::vector<Bin>& bins = bins_[columns[i].view];
      ValueReader reader = readers[i];  // here and below, so that it stays in registers
      for (size_t row = 0; row < bin_of_row.size();) {
        const size_t index = bin_of_row[row];
        Bin bin = index == kNotWanted ? Bin() : bins[index];
        for (; row < bin_of_row.size() && bin_of_row[row] == index; ++row)
          bin.Add(reader.Next(block[0][row], block[i + 1][row], per_second[row]));
        if (index != kNotWanted) bins[index] = bin;
      }
      readers[i] = reader;
    }
    return true;
  });
}

void ViewBuilder::FinishBins(size_t view_index) {
  SeriesView& view = views_[view_index];
  const std::vector<Bin>& bins = bins_[view_index];
  model::StepSpreader steps = steps_[view_index];
  const __int128 first_bin = FloorDivide(range_.t0_ns, bin_ns_);
  for (size_t i = 0; i < bins.size(); ++i) {
    const Bin& bin = bins[i];
    if (bin.count == 0) continue;
    const __int128 start = (first_bin + static_cast<__int128>(i)) * bin_ns_;
    view.t_ns.push_back(static_cast<int64_t>(std::max<__int128>(start, INT64_MIN + 1)));
    view.count.push_back(bin.count);
    const bool any = bin.weight > 0;
    const double mean = any ? steps.Next({bin.sum, bin.weight / kSecondsPerNs}).amount / bin.weight : kMissing;
    view.low.push_back(any ? std::min(bin.low, mean) : kMissing);
    view.high.push_back(any ? std::max(bin.high, mean) : kMissing);
    view.mean.push_back(mean);
  }
}

}  // namespace attune::store
