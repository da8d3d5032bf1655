/// Samples, events and regions: read one stretch of time after the other.

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <numeric>
#include <utility>

#include "store/sql_rows.h"
#include "wire/event.h"

namespace attune::store {
namespace {

using model::kAbsent;
using model::Source;
using model::TimeRange;

/// A stretch of time has at most so many rows, unless they are of one nanosecond; and not far fewer, where there are
/// more.
constexpr size_t kMaxRows = 16u << 10;
constexpr size_t kFewRows = 4u << 10;

SqlCell IntCell(int64_t value) { return value == kAbsent ? SqlCell() : SqlCell(value); }

/// Columns of rows of one stretch of time.
struct Stretch {
  std::vector<std::vector<int64_t>> columns;
  size_t rows() const { return columns[0].size(); }

  void Sort(size_t time_column) {
    const auto& times = columns[time_column];
    if (std::is_sorted(times.begin(), times.end())) return;
    std::vector<uint32_t> order(times.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return times[a] < times[b]; });
    for (auto& column : columns) {
      std::vector<int64_t> sorted(column.size());
      for (size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
      column = std::move(sorted);
    }
  }
};

/// Adds the rows of a range, about `limit` at most, and says up to when they are complete: the range's end, or an
/// earlier time, or its begin where there are more and what was read is of no use.
using ReadStretchFn = std::function<Result<int64_t>(TimeRange range, size_t limit, Stretch& stretch)>;

/// Goes through a range in stretches that hold a bearable number of rows, each sorted by time. From the second one on,
/// a thread reads the next stretch while SQLite goes through the rows of this one, which takes about as long; the first
/// one alone answers many queries (LIMIT, a short time).
class StretchReader {
 public:
  /// @param read is called from one thread at a time, not always the same
  StretchReader(TimeRange range, size_t columns, size_t time_column, ReadStretchFn read)
      : range_(range), time_column_(time_column), read_(std::move(read)), length_(Length(range)) {
    stretch_.columns.resize(columns);
    next_.columns.resize(columns);
  }

  /// The next stretch that has rows, or nullptr.
  Result<const Stretch*> Next() {
    const bool is_first = !began_;
    began_ = true;
    ATTUNE_CHECK_OK(ahead_.valid() ? ahead_.get() : ReadNext());
    std::swap(stretch_, next_);
    if (stretch_.rows() == 0) return nullptr;
    // Without a policy: where no thread can be had, the stretch is read when it is asked for.
    if (!is_first && range_.t0_ns < range_.t1_ns) ahead_ = std::async([this] { return ReadNext(); });
    return &stretch_;
  }

 private:
  static uint64_t Length(TimeRange range) {
    return range.t1_ns <= range.t0_ns ? 0 : static_cast<uint64_t>(range.t1_ns) - static_cast<uint64_t>(range.t0_ns);
  }

  /// Fills next_ with the next stretch that has rows; without any, there are no more.
  Status ReadNext() {
    for (auto& column : next_.columns) column.clear();
    while (next_.rows() == 0 && range_.t0_ns < range_.t1_ns) {
      const uint64_t left = Length(range_);
      length_ = std::clamp<uint64_t>(length_, 1, left);
      const auto end_ns = static_cast<int64_t>(static_cast<uint64_t>(range_.t0_ns) + length_);
      ATTUNE_TRY(const int64_t complete_ns, read_({range_.t0_ns, end_ns}, length_ == 1 ? SIZE_MAX : kMaxRows, next_));
      if (complete_ns == range_.t0_ns) {
        for (auto& column : next_.columns) column.clear();
        length_ = std::max<uint64_t>(1, length_ / 4);
        continue;
      }
      range_.t0_ns = complete_ns;
      if (next_.rows() < kFewRows) length_ = length_ > UINT64_MAX / 4 ? UINT64_MAX : length_ * 4;
    }
    next_.Sort(time_column_);
    return {};
  }

  // The thread that reads ahead has range_, length_ and next_ until its result is taken.
  TimeRange range_;
  const size_t time_column_;
  const ReadStretchFn read_;
  uint64_t length_;
  Stretch next_;
  Stretch stretch_;
  bool began_ = false;
  std::future<Status> ahead_;  // last, so that it ends before what it reads into
};

TimeRange Within(TimeRange range, TimeRange extent) {
  return {std::max(range.t0_ns, extent.t0_ns), std::min(range.t1_ns, extent.t1_ns)};
}

// ---- samples

enum SampleColumn { kSeriesColumn, kTimeColumn, kValueColumn };

class SampleRows : public SqlRows {
 public:
  SampleRows(std::shared_ptr<Source> source, const SqlConstraints& constraints)
      : source_(std::move(source)),
        stretches_(Within(constraints.time, source_->Extent()), 3, kTimeColumn,
                   [this](TimeRange range, size_t limit, Stretch& stretch) { return Read(range, limit, stretch); }) {
    const auto metadata = source_->Meta();
    for (const model::Stream& stream : metadata->streams) {
      Part part{stream.id, {}, {}};
      for (uint32_t i = 0; i < stream.series.size(); ++i) {
        if (constraints.key && *constraints.key != stream.series[i]) continue;
        part.columns.push_back(i);
        part.series.push_back(stream.series[i]);
      }
      if (!part.columns.empty()) parts_.push_back(std::move(part));
    }
  }

  SqlCell Cell(int) const override { return {}; }

 private:
  Result<size_t> NextRows() override {
    if (parts_.empty()) return size_t{0};
    ATTUNE_TRY(const Stretch* stretch, stretches_.Next());
    if (stretch == nullptr) return size_t{0};
    integers_ = stretch->columns;
    return stretch->rows();
  }

  struct Part {
    model::StreamId stream;
    std::vector<uint32_t> columns;
    std::vector<int64_t> series;
  };

  Result<int64_t> Read(TimeRange range, size_t limit, Stretch& stretch) {
    std::vector<int64_t>& series = stretch.columns[kSeriesColumn];
    std::vector<int64_t>& t_ns = stretch.columns[kTimeColumn];
    std::vector<int64_t>& value = stretch.columns[kValueColumn];
    bool stopped = false;
    for (const Part& part : parts_) {
      ATTUNE_CHECK_OK(source_->ReadSamples(part.stream, part.columns, range, [&](const model::SampleBlock& block) {
        if (part.columns.size() == 1) {  // most queries ask for one series: whole columns at once
          series.insert(series.end(), block.t_ns.size(), part.series[0]);
          t_ns.insert(t_ns.end(), block.t_ns.begin(), block.t_ns.end());
          value.insert(value.end(), block.columns[0].begin(), block.columns[0].end());
          stopped = t_ns.size() > limit;
          return !stopped;
        }
        for (size_t row = 0; row < block.t_ns.size(); ++row) {
          for (size_t i = 0; i < part.columns.size(); ++i) {
            series.push_back(part.series[i]);
            t_ns.push_back(block.t_ns[row]);
            value.push_back(block.columns[i][row]);
          }
        }
        stopped = t_ns.size() > limit;
        return !stopped;
      }));
      if (!stopped) continue;
      return parts_.size() == 1 ? DropLastMoment(range.t0_ns, stretch) : range.t0_ns;
    }
    return range.t1_ns;
  }

  /// A stream comes in order of time: all before its last moment is complete, and that moment may have more rows.
  /// @return the last moment, or `begin_ns` where nothing is before it
  static int64_t DropLastMoment(int64_t begin_ns, Stretch& stretch) {
    const std::vector<int64_t>& t_ns = stretch.columns[kTimeColumn];
    if (!std::is_sorted(t_ns.begin(), t_ns.end())) return begin_ns;  // not what a session writes
    const int64_t last_ns = t_ns.back();
    const auto rows = static_cast<size_t>(std::lower_bound(t_ns.begin(), t_ns.end(), last_ns) - t_ns.begin());
    if (rows == 0) return begin_ns;
    for (auto& column : stretch.columns) column.resize(rows);
    return last_ns;
  }

  const std::shared_ptr<Source> source_;
  std::vector<Part> parts_;
  StretchReader stretches_;
};

// ---- events

constexpr size_t kSqlEventColumns = 7;

/// Events in order of time, a stretch after the other.
class EventReader {
 public:
  EventReader(std::shared_ptr<Source> source, TimeRange range)
      : source_(std::move(source)),
        stretches_(Within(range, source_->Extent()), kSqlEventColumns, 0,
                   [this](TimeRange part, size_t limit, Stretch& stretch) { return Read(part, limit, stretch); }) {}

  /// nullptr: that was all.
  Result<const Stretch*> Next() { return stretches_.Next(); }

 private:
  Result<int64_t> Read(TimeRange range, size_t limit, Stretch& stretch) {
    bool whole = true;
    ATTUNE_CHECK_OK(source_->ReadEvents(range, [&](const model::EventBlock& block) {
      size_t column = 0;
      for (const auto& values : {block.t_ns, block.thread, block.kind, block.object, block.site, block.a, block.b}) {
        auto& target = stretch.columns[column++];
        target.insert(target.end(), values.begin(), values.end());
      }
      whole = stretch.rows() <= limit;
      return whole;
    }));
    return whole ? range.t1_ns : range.t0_ns;
  }

  const std::shared_ptr<Source> source_;
  StretchReader stretches_;
};

enum EventColumn { kEventTime, kEventThread, kEventKind, kEventObject, kEventSite, kEventA, kEventB };

class EventRows : public SqlRows {
 public:
  EventRows(std::shared_ptr<Source> source, const SqlConstraints& constraints)
      : events_(std::move(source), constraints.time) {}

  SqlCell Cell(int column) const override {
    const int64_t value = stretch_->columns[static_cast<size_t>(column)][row()];
    if (column == kEventKind) return model::WordOf<wire::EventKind>(value);
    const bool is_id = column == kEventThread || column == kEventObject || column == kEventSite;
    return is_id && value == 0 ? SqlCell() : IntCell(value);
  }

 private:
  Result<size_t> NextRows() override {
    ATTUNE_TRY(stretch_, events_.Next());
    return stretch_ == nullptr ? 0 : stretch_->rows();
  }

  EventReader events_;
  const Stretch* stretch_ = nullptr;
};

// ---- regions

/// Matches the begins and ends of each thread. An end that belongs to an outer region ends the inner ones unseen: their
/// duration is not known.
class RegionRows : public SqlRows {
 public:
  RegionRows(std::shared_ptr<Source> source, const SqlConstraints&)
      : metadata_(source->Meta()), events_(std::move(source), {INT64_MIN, INT64_MAX}) {}

  SqlCell Cell(int column) const override {
    const Region& region = done_[row()];
    const model::Element* thread = metadata_->FindElement(static_cast<model::ElementId>(region.thread));
    const model::Element* named = metadata_->FindElement(static_cast<model::ElementId>(region.object));
    switch (column) {
      case 0: return thread == nullptr || thread->parent == 0 ? SqlCell() : SqlCell(int64_t{thread->parent});
      case 1: return region.thread;
      case 2: return named == nullptr ? SqlCell() : SqlCell(std::string_view(named->name));
      case 3: return region.start_ns;
      case 4: return IntCell(region.duration_ns);
      default: return region.depth;
    }
  }

 private:
  struct Region {
    int64_t thread, object, start_ns, duration_ns, depth;
  };

  Result<size_t> NextRows() override {
    done_.clear();
    while (done_.empty() && !ended_) {
      ATTUNE_TRY(const Stretch* stretch, events_.Next());
      if (stretch != nullptr) {
        for (size_t row = 0; row < stretch->rows(); ++row) Take(*stretch, row);
      } else {
        ended_ = true;
        for (auto& [thread, open] : open_) done_.insert(done_.end(), open.begin(), open.end());
      }
    }
    return done_.size();
  }

  void Take(const Stretch& stretch, size_t row) {
    const int64_t thread = stretch.columns[kEventThread][row];
    const int64_t object = stretch.columns[kEventObject][row];
    const int64_t t_ns = stretch.columns[kEventTime][row];
    const int64_t kind = stretch.columns[kEventKind][row];
    if (kind == static_cast<int64_t>(wire::EventKind::kRegionBegin)) {
      auto& open = open_[thread];
      open.push_back({thread, object, t_ns, kAbsent, static_cast<int64_t>(open.size())});
    } else if (kind == static_cast<int64_t>(wire::EventKind::kRegionEnd)) {
      auto& open = open_[thread];
      const auto begun =
          std::find_if(open.rbegin(), open.rend(), [&](const Region& region) { return region.object == object; });
      if (begun == open.rend()) return;
      begun->duration_ns = t_ns - begun->start_ns;
      const auto first = begun.base() - 1;
      done_.insert(done_.end(), first, open.end());
      open.erase(first, open.end());
    }
  }

  const std::shared_ptr<const model::Metadata> metadata_;
  EventReader events_;
  std::map<int64_t, std::vector<Region>> open_;
  std::vector<Region> done_;
  bool ended_ = false;
};

template <class Rows>
std::unique_ptr<SqlRows> Open(const std::shared_ptr<Source>& source, const SqlConstraints& constraints) {
  return std::make_unique<Rows>(source, constraints);
}

}  // namespace

std::vector<SqlTable> TimedSqlTables() {
  std::vector<SqlTable> tables;
  tables.push_back({"samples", "series INTEGER, t_ns INTEGER, value INTEGER", 0, 1, false, true, Open<SampleRows>});
  tables.push_back({"events",
                    "t_ns INTEGER, thread INTEGER, kind TEXT, object INTEGER, site INTEGER, a INTEGER, b INTEGER", -1,
                    0, false, true, Open<EventRows>});
  tables.push_back({"regions",
                    "process INTEGER, thread INTEGER, name TEXT, start_ns INTEGER, duration_ns INTEGER, depth INTEGER",
                    -1, -1, false, true, Open<RegionRows>});
  return tables;
}

}  // namespace attune::store
