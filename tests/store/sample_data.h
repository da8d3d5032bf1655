#pragma once
/// A made-up session whose every value can be computed, so that what is read back can be checked.

#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "model/schema.h"
#include "model/sink.h"
#include "model/source.h"

namespace attune::store {

/// A folder that is removed with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attune-store-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// Rows of one stream at 1 kHz: counters first, then gauges, and the events of one thread.
struct SampleSession {
  static constexpr int64_t kStartNs = 1'000'000'000'000;
  static constexpr int64_t kPeriodNs = 1'000'000;
  static constexpr model::StreamId kStream = 1;
  static constexpr model::StreamId kEventStream = 2;
  static constexpr model::ElementId kMachine = 1, kProcess = 2, kThread = 3, kRegion = 4, kLock = 5, kSite = 6;

  int counters = 4;
  int gauges = 2;

  int Columns() const { return counters + gauges; }
  static int64_t TimeOf(int64_t row) { return kStartNs + row * kPeriodNs; }
  /// Counters grow by column + 1 a row, and by 1000 more at each 1000th row: a spike that views must show.
  int64_t ValueOf(int column, int64_t row) const {
    if (column < counters) return row * (column + 1) + row / 1000 * int64_t{1000};
    return 100 * column + row % 17;
  }

  std::vector<model::BatchPtr> Metadata() const {
    using namespace model;
    std::vector<Element> elements{
        {kMachine, 0, ElementKind::kMachine, kAbsent, kAbsent, kAbsent, "host", "host"},
        {kProcess, kMachine, ElementKind::kProcess, 4711, kStartNs, kAbsent, "host", "worker"},
        {kThread, kProcess, ElementKind::kThread, 4712, kStartNs, kAbsent, "host", "worker"},
        {kRegion, kProcess, ElementKind::kRegion, kAbsent, kAbsent, kAbsent, "host", "compress"}};
    std::vector<Series> series;
    Stream stream{kStream, kPeriodNs, {}};
    for (int i = 0; i < Columns(); ++i) {
      const auto id = static_cast<SeriesId>(i + 1);
      series.push_back({id, kMachine, i < counters ? SeriesKind::kCounter : SeriesKind::kGauge, i < counters ? 0 : -2,
                        kAbsent, "vmstat", "signal" + std::to_string(i), "pages"});
      stream.series.push_back(id);
    }
    std::vector<Process> processes{{kProcess, 0, 4711, kStartNs}};
    processes[0].command = "worker --fast";
    std::vector<Label> labels{{TimeOf(5), "begin \"quoted\", with comma"}};
    Batch clock;
    clock.table = model::ClockReading::kTable;
    clock.rows = 1;
    clock.ints = {{0}, {kStartNs}, {kStartNs + 7}};
    std::vector<BatchPtr> batches;
    for (Batch batch : {ToBatch(elements), ToBatch(series), ToBatch(std::vector<Stream>{stream}), ToBatch(processes),
                        ToBatch(labels), clock}) {
      batches.push_back(std::make_shared<const Batch>(std::move(batch)));
    }
    return batches;
  }

  /// A disk fills up and is emptied again; memory stays short.
  static std::vector<model::Alarm> Alarms() {
    using namespace model;
    return {{TimeOf(10), 1, AlarmState::kRaised, AlarmSeverity::kWarning, kMachine, 5, 45, 100, -1, "storage.space",
             "%", "4.5 % of / are free", "free some space"},
            {TimeOf(20), 2, AlarmState::kRaised, AlarmSeverity::kCritical, kMachine, 6, 97, 95, 0, "memory.full", "%",
             "97 % of memory are used", "use less"},
            {TimeOf(30), 1, AlarmState::kCleared, AlarmSeverity::kWarning, kMachine, 5, kAbsent, 120, -1,
             "storage.space", "%", "/ is gone", ""}};
  }

  /// What the thread did with a lock at a place in inlined code, in two parts, and the code there.
  static std::vector<model::Sync> Syncs() {
    return {{TimeOf(10), kThread, kLock, kSite, wire::SyncKind::kMutex, 100, 3, 5'000'000, 640, 2},
            {TimeOf(20), kThread, kLock, kSite, wire::SyncKind::kMutex, 1, 1, 1'000'000, 0, 0}};
  }
  static std::vector<model::Message> Messages() {
    return {{.t_ns = TimeOf(10),
             .thread = kThread,
             .rank = 1,
             .function = kSite,
             .communicator = kLock,
             .peer = 2,
             .tag = 7,
             .bytes = 4096,
             .site = kSite,
             .post_ns = TimeOf(9),
             .wait_ns = TimeOf(9),
             .wait_site = kSite,
             .cpu = 1},
            {.t_ns = TimeOf(20),
             .thread = kThread,
             .rank = 1,
             .kind = model::MessageKind::kReceived,
             .peer = 2,
             .bytes = 8,
             .post_ns = TimeOf(1)}};
  }
  static std::vector<model::Collective> Collectives() {
    return {{.t_ns = TimeOf(30),
             .thread = kThread,
             .rank = 1,
             .function = kSite,
             .communicator = kLock,
             .sequence = 3,
             .root = 0,
             .bytes_sent = 8,
             .bytes_received = 16,
             .site = kSite,
             .post_ns = TimeOf(29),
             .cpu = 0,
             .communicator_rank = 1,
             .communicator_size = 4}};
  }
  static std::vector<model::Site> Sites() {
    return {{kSite, 0, 0x1234, 12, true, "take()", "lock.h", "/usr/bin/worker", "ab12"},
            {kSite, 1, 0x1234, model::kAbsent, false, "main", "", "/usr/bin/worker", "ab12"}};
  }

  /// Rows [first, end).
  model::BatchPtr Samples(int64_t first, int64_t end) const {
    model::Batch batch;
    batch.table = model::Sample::kTable;
    batch.stream = kStream;
    batch.rows = static_cast<size_t>(end - first);
    batch.ints.resize(static_cast<size_t>(Columns()) + 1);
    for (int64_t row = first; row < end; ++row) {
      batch.ints[0].push_back(TimeOf(row));
      for (int column = 0; column < Columns(); ++column) {
        batch.ints[static_cast<size_t>(column) + 1].push_back(ValueOf(column, row));
      }
    }
    return std::make_shared<const model::Batch>(std::move(batch));
  }

  /// A region that begins at each row of [first, end) and ends half a period later.
  model::BatchPtr Events(int64_t first, int64_t end) const {
    model::Batch batch;
    batch.table = model::Event::kTable;
    batch.stream = kEventStream;
    batch.ints.resize(7);
    for (int64_t row = first; row < end; ++row) {
      for (const int64_t kind : {1, 2}) {
        const std::vector<int64_t> cells{TimeOf(row) + (kind - 1) * kPeriodNs / 2, kThread, kind, kRegion, 0, row, 0};
        for (size_t i = 0; i < cells.size(); ++i) batch.ints[i].push_back(cells[i]);
        ++batch.rows;
      }
    }
    return std::make_shared<const model::Batch>(std::move(batch));
  }

  /// Metadata, then samples and events of `rows` rows in batches of `step`.
  void Feed(model::Sink& sink, int64_t rows, int64_t step = 20) const {
    for (const auto& batch : Metadata()) sink.Consume(batch);
    FeedRows(sink, 0, rows, step);
  }
  void FeedRows(model::Sink& sink, int64_t first, int64_t end, int64_t step = 20) const {
    for (int64_t row = first; row < end; row += step) {
      sink.Consume(Samples(row, std::min(end, row + step)));
      sink.Consume(Events(row, std::min(end, row + step)));
    }
  }

  static constexpr model::TimeRange kAll{INT64_MIN, INT64_MAX};
  /// Reads all samples; the rows that it saw. A value that is not the one written gives -1.
  int64_t CountRightRows(model::Source& source, model::TimeRange range = kAll) const {
    std::vector<uint32_t> columns;
    for (int i = 0; i < Columns(); ++i) columns.push_back(static_cast<uint32_t>(i));
    int64_t rows = 0;
    bool right = true;
    int64_t last_ns = INT64_MIN;
    const auto status = source.ReadSamples(kStream, columns, range, [&](const model::SampleBlock& block) {
      for (size_t i = 0; i < block.t_ns.size(); ++i, ++rows) {
        const int64_t row = (block.t_ns[i] - kStartNs) / kPeriodNs;
        right = right && TimeOf(row) == block.t_ns[i] && block.t_ns[i] > last_ns;
        last_ns = block.t_ns[i];
        for (int column = 0; column < Columns(); ++column) {
          right = right && block.columns[static_cast<size_t>(column)][i] == ValueOf(column, row);
        }
      }
      return right;
    });
    return right && status.ok() ? rows : -1;
  }
  static int64_t CountEvents(model::Source& source, model::TimeRange range = kAll) {
    int64_t count = 0;
    const auto status = source.ReadEvents(range, [&](const model::EventBlock& block) {
      count += static_cast<int64_t>(block.t_ns.size());
      return true;
    });
    return status.ok() ? count : -1;
  }
};

}  // namespace attune::store
