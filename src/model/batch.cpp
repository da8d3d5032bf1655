#include "model/batch.h"

#include <algorithm>
#include <array>

#include "model/source.h"

namespace attune::model {
namespace {

using Names = std::string_view;

constexpr std::array<Names, 2> kInfoTexts{"key", "value"};
constexpr std::array<Names, 6> kElementInts{"id", "parent", "kind", "os_id", "start_ns", "end_ns"};
constexpr std::array<Names, 2> kElementTexts{"host", "name"};
constexpr std::array<Names, 6> kSeriesInts{"id", "element", "kind", "scale", "max_per_second", "sum"};
constexpr std::array<Names, 3> kSeriesTexts{"sensor", "signal", "unit"};
constexpr std::array<Names, 4> kStreamInts{"stream", "column", "series", "interval_ns"};
constexpr std::array<Names, 1> kSampleInts{"t_ns"};
constexpr std::array<Names, 7> kEventInts{"t_ns", "thread", "kind", "object", "site", "a", "b"};
constexpr std::array<Names, 1> kLabelInts{"t_ns"};
constexpr std::array<Names, 1> kLabelTexts{"text"};
constexpr std::array<Names, 5> kGapInts{"stream", "t0_ns", "t1_ns", "count", "reason"};
constexpr std::array<Names, 14> kProcessInts{"id",
                                             "parent",
                                             "pid",
                                             "start_ns",
                                             "end_ns",
                                             "exit_code",
                                             "exit_signal",
                                             "user_ns",
                                             "system_ns",
                                             "minor_faults",
                                             "major_faults",
                                             "voluntary_switches",
                                             "involuntary_switches",
                                             "max_rss_bytes"};
constexpr std::array<Names, 2> kProcessTexts{"host", "command"};
constexpr std::array<Names, 3> kClockInts{"tsc", "monotonic_ns", "real_ns"};
constexpr std::array<Names, 3> kLodInts{"t0_ns", "t1_ns", "count"};
constexpr std::array<Names, 4> kFindingInts{"seconds_ns", "share_ppm", "object", "site"};
constexpr std::array<Names, 3> kFindingTexts{"class", "advice", "evidence"};
constexpr std::array<Names, 5> kDecisionInts{"t_ns", "object", "before", "after", "expected_gain_ppm"};
constexpr std::array<Names, 3> kDecisionTexts{"tunlet", "knob", "reason"};
constexpr std::array<Names, 9> kAlarmInts{"t_ns",   "id",    "state",     "severity", "element",
                                          "series", "value", "threshold", "scale"};
constexpr std::array<Names, 4> kAlarmTexts{"alarm", "unit", "text", "advice"};
constexpr std::array<Names, 10> kSyncInts{"t_ns",  "thread",    "object",  "site",    "kind",
                                          "count", "contended", "wait_ns", "hold_ns", "holds"};
constexpr std::array<Names, 5> kSiteInts{"id", "frame", "address", "line", "inlined"};
constexpr std::array<Names, 4> kSiteTexts{"function", "file", "module", "build_id"};
constexpr std::array<Names, 3> kStackInts{"id", "parent", "site"};
constexpr std::array<Names, 6> kCpuSampleInts{"t_ns", "thread", "cpu", "site", "stack", "weight_ns"};
constexpr std::array<Names, 10> kAccessInts{"t_ns",    "thread", "cpu",       "site",     "kind",
                                            "address", "bytes",  "page_node", "cpu_node", "weight_ns"};
constexpr std::array<Names, 14> kMessageInts{"t_ns", "thread", "rank", "kind",    "function", "communicator", "peer",
                                             "tag",  "bytes",  "site", "post_ns", "wait_ns",  "wait_site",    "cpu"};
constexpr std::array<Names, 15> kCollectiveInts{
    "t_ns",     "thread",  "rank",       "function",          "communicator",
    "sequence", "root",    "bytes_sent", "bytes_received",    "site",
    "post_ns",  "wait_ns", "cpu",        "communicator_rank", "communicator_size"};
constexpr std::array<Names, 7> kViewInts{"t_ns", "from_ns", "exponent", "count", "mean", "low", "high"};

const std::array kSchemas{
    TableSchema{Table::kInfo, "info", {}, kInfoTexts, -1},
    TableSchema{Table::kElements, "elements", kElementInts, kElementTexts, -1},
    TableSchema{Table::kSeries, "series", kSeriesInts, kSeriesTexts, -1},
    TableSchema{Table::kStreams, "streams", kStreamInts, {}, -1},
    TableSchema{Table::kSamples, "samples", kSampleInts, {}, 0},
    TableSchema{Table::kEvents, "events", kEventInts, {}, 0},
    TableSchema{Table::kLabels, "labels", kLabelInts, kLabelTexts, 0},
    TableSchema{Table::kGaps, "gaps", kGapInts, {}, 1},
    TableSchema{Table::kProcesses, "processes", kProcessInts, kProcessTexts, -1},
    TableSchema{Table::kClock, "clock", kClockInts, {}, 1},
    TableSchema{Table::kLod, "lod", kLodInts, {}, 0},
    TableSchema{Table::kIndex, "index", {}, {}, -1},
    TableSchema{Table::kFooter, "footer", {}, {}, -1},
    TableSchema{Table::kFindings, "findings", kFindingInts, kFindingTexts, -1},
    TableSchema{Table::kDecisions, "decisions", kDecisionInts, kDecisionTexts, 0},
    TableSchema{Table::kView, "view", kViewInts, {}, 0},
    TableSchema{Table::kAlarms, "alarms", kAlarmInts, kAlarmTexts, 0},
    TableSchema{Table::kSync, "sync", kSyncInts, {}, 0},
    TableSchema{Table::kSites, "sites", kSiteInts, kSiteTexts, -1},
    TableSchema{Table::kStacks, "stacks", kStackInts, {}, -1},
    TableSchema{Table::kCpuSamples, "cpu_samples", kCpuSampleInts, {}, 0},
    TableSchema{Table::kAccesses, "accesses", kAccessInts, {}, 0},
    TableSchema{Table::kMessages, "messages", kMessageInts, {}, 0},
    TableSchema{Table::kCollectives, "collectives", kCollectiveInts, {}, 0},
};

/// Of inlined functions at one place; more than any compiler makes.
constexpr int64_t kMaxFrame = 1000;

/// Of a message: no difference of two such times overflows.
constexpr int64_t kLatestNs = int64_t{1} << 62;

/// A batch of `table` with room for `rows` rows.
Batch Reserve(Table table, size_t rows) {
  const TableSchema& schema = *FindSchema(table);
  Batch batch;
  batch.table = table;
  batch.ints.resize(schema.ints.size());
  batch.texts.resize(schema.texts.size());
  for (auto& column : batch.ints) column.reserve(rows);
  for (auto& column : batch.texts) column.reserve(rows);
  return batch;
}

void Append(Batch& batch, std::initializer_list<int64_t> ints, std::initializer_list<std::string_view> texts) {
  size_t column = 0;
  for (const int64_t value : ints) batch.ints[column++].push_back(value);
  column = 0;
  for (const std::string_view text : texts) batch.texts[column++].emplace_back(text);
  ++batch.rows;
}

/// Reads cells of a batch that may be older (fewer columns) than this program.
class Cells {
 public:
  explicit Cells(const Batch& batch) : batch_(batch) {}
  int64_t Int(size_t row, size_t column) const {
    return column < batch_.ints.size() ? batch_.ints[column][row] : kAbsent;
  }
  /// As an id: 0 where it is absent or out of range.
  uint32_t Id(size_t row, size_t column) const {
    const int64_t value = Int(row, column);
    return value > 0 && value <= UINT32_MAX ? static_cast<uint32_t>(value) : 0;
  }
  std::string Text(size_t row, size_t column) const {
    return column < batch_.texts.size() ? batch_.texts[column][row] : std::string();
  }
  bool In(size_t row, size_t column, int64_t low, int64_t high) const {
    const int64_t value = Int(row, column);
    return value >= low && value <= high;
  }

 private:
  const Batch& batch_;
};

template <class T>
const T* FindById(const std::vector<T>& rows, uint32_t id) {
  auto found =
      std::lower_bound(rows.begin(), rows.end(), id, [](const T& row, uint32_t wanted) { return row.id < wanted; });
  return found != rows.end() && found->id == id ? &*found : nullptr;
}

/// No call ends before it began. `end_ns` is not negative.
int64_t Before(int64_t end_ns, int64_t begin_ns) { return std::clamp<int64_t>(begin_ns, 0, end_ns); }

int64_t WaitBegin(int64_t end_ns, int64_t begin_ns) { return begin_ns == kAbsent ? kAbsent : Before(end_ns, begin_ns); }

/// Recordings from before the column have none.
SumRule SumRuleFrom(int64_t value) {
  const bool known = value >= 0 && value <= static_cast<int64_t>(SumRule::kNone);
  return known ? static_cast<SumRule>(value) : SumRule::kSum;
}

}  // namespace

const TableSchema* FindSchema(Table table) {
  for (const TableSchema& schema : kSchemas) {
    if (schema.table == table) return &schema;
  }
  return nullptr;
}

std::span<const TableSchema> AllSchemas() { return kSchemas; }

std::string_view ToString(ElementKind kind) {
  constexpr std::array<std::string_view, 19> kNames{
      "?",    "machine", "board",   "package", "node",   "core",    "cpu",     "device",       "process", "thread",
      "rank", "lock",    "channel", "site",    "region", "instant", "counter", "communicator", "function"};
  static_assert(kNames.size() == static_cast<size_t>(kLastElementKind) + 1);
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view ToString(SumRule rule) {
  constexpr std::array<std::string_view, 4> kNames{"sum", "mean", "max", "none"};
  const auto index = static_cast<size_t>(rule);
  return index < kNames.size() ? kNames[index] : "?";
}

std::string_view ToString(SeriesKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"?", "counter", "updown", "gauge", "state"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view ToString(GapReason reason) {
  constexpr std::array<std::string_view, 8> kNames{"?",        "missed",    "paused",  "dropped",
                                                   "vanished", "disk full", "damaged", "rolled"};
  const auto index = static_cast<size_t>(reason);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view ToString(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead: return "read";
    case AccessKind::kWrite: return "write";
    case AccessKind::kUpdate: return "update";
    case AccessKind::kFirstTouch: return "first touch";
  }
  return "?";
}

std::string_view ToString(MessageKind kind) {
  switch (kind) {
    case MessageKind::kSent: return "sent";
    case MessageKind::kReceived: return "received";
  }
  return "?";
}

std::string_view ToString(AlarmState state) {
  constexpr std::array<std::string_view, 3> kNames{"?", "raised", "cleared"};
  const auto index = static_cast<size_t>(state);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view ToString(AlarmSeverity severity) {
  constexpr std::array<std::string_view, 3> kNames{"?", "warning", "critical"};
  const auto index = static_cast<size_t>(severity);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

std::string_view ToString(wire::SyncKind kind) {
  constexpr std::array<std::string_view, 18> kNames{"?",
                                                    "mutex",
                                                    "read lock",
                                                    "write lock",
                                                    "spin lock",
                                                    "condition",
                                                    "barrier",
                                                    "semaphore",
                                                    "join",
                                                    "wake",
                                                    "futex",
                                                    "OpenMP critical",
                                                    "OpenMP barrier",
                                                    "OpenMP task wait",
                                                    "OpenMP ordered",
                                                    "once",
                                                    "file",
                                                    "MPI"};
  static_assert(kNames.size() == static_cast<size_t>(wire::kLastSyncKind) + 1);
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : kNames[0];
}

Batch ToBatch(std::span<const Element> rows) {
  Batch batch = Reserve(Table::kElements, rows.size());
  for (const Element& row : rows) {
    Append(batch, {row.id, row.parent, static_cast<int64_t>(row.kind), row.os_id, row.start_ns, row.end_ns},
           {row.host, row.name});
  }
  return batch;
}

Batch ToBatch(std::span<const Series> rows) {
  Batch batch = Reserve(Table::kSeries, rows.size());
  for (const Series& row : rows) {
    Append(batch,
           {row.id, row.element, static_cast<int64_t>(row.kind), row.scale, row.max_per_second,
            static_cast<int64_t>(row.sum)},
           {row.sensor, row.signal, row.unit});
  }
  return batch;
}

Batch ToBatch(std::span<const Stream> rows) {
  Batch batch = Reserve(Table::kStreams, rows.size());
  for (const Stream& row : rows) {
    for (size_t column = 0; column < row.series.size(); ++column) {
      Append(batch, {row.id, static_cast<int64_t>(column), row.series[column], row.interval_ns}, {});
    }
  }
  return batch;
}

Batch ToBatch(std::span<const Gap> rows) {
  Batch batch = Reserve(Table::kGaps, rows.size());
  for (const Gap& row : rows)
    Append(batch, {row.stream, row.t0_ns, row.t1_ns, row.count, static_cast<int64_t>(row.reason)}, {});
  return batch;
}

Batch ToBatch(std::span<const Process> rows) {
  Batch batch = Reserve(Table::kProcesses, rows.size());
  for (const Process& row : rows) {
    Append(batch,
           {row.id, row.parent, row.pid, row.start_ns, row.end_ns, row.exit_code, row.exit_signal, row.user_ns,
            row.system_ns, row.minor_faults, row.major_faults, row.voluntary_switches, row.involuntary_switches,
            row.max_rss_bytes},
           {row.host, row.command});
  }
  return batch;
}

Batch ToBatch(std::span<const Label> rows) {
  Batch batch = Reserve(Table::kLabels, rows.size());
  for (const Label& row : rows) Append(batch, {row.t_ns}, {row.text});
  return batch;
}

Batch ToBatch(std::span<const Alarm> rows) {
  Batch batch = Reserve(Table::kAlarms, rows.size());
  for (const Alarm& row : rows) {
    Append(batch,
           {row.t_ns, row.id, static_cast<int64_t>(row.state), static_cast<int64_t>(row.severity), row.element,
            row.series, row.value, row.threshold, row.scale},
           {row.alarm, row.unit, row.text, row.advice});
  }
  return batch;
}

Batch ToBatch(std::span<const Sync> rows) {
  Batch batch = Reserve(Table::kSync, rows.size());
  for (const Sync& row : rows) {
    Append(batch,
           {row.t_ns, row.thread, row.object, row.site, static_cast<int64_t>(row.kind), row.count, row.contended,
            row.wait_ns, row.hold_ns, row.holds},
           {});
  }
  return batch;
}

Batch ToBatch(std::span<const Site> rows) {
  Batch batch = Reserve(Table::kSites, rows.size());
  for (const Site& row : rows) {
    Append(batch, {row.id, row.frame, row.address, row.line, row.inlined ? 1 : 0},
           {row.function, row.file, row.module, row.build_id});
  }
  return batch;
}

Batch ToBatch(std::span<const Stack> rows) {
  Batch batch = Reserve(Table::kStacks, rows.size());
  for (const Stack& row : rows) Append(batch, {row.id, row.parent, row.site}, {});
  return batch;
}

Batch ToBatch(std::span<const CpuSample> rows) {
  Batch batch = Reserve(Table::kCpuSamples, rows.size());
  for (const CpuSample& row : rows)
    Append(batch, {row.t_ns, row.thread, row.cpu, row.site, row.stack, row.weight_ns}, {});
  return batch;
}

Batch ToBatch(std::span<const Access> rows) {
  Batch batch = Reserve(Table::kAccesses, rows.size());
  for (const Access& row : rows) {
    Append(batch,
           {row.t_ns, row.thread, row.cpu, row.site, static_cast<int64_t>(row.kind), row.address, row.bytes,
            row.page_node, row.cpu_node, row.weight_ns},
           {});
  }
  return batch;
}

Batch ToBatch(std::span<const Message> rows) {
  Batch batch = Reserve(Table::kMessages, rows.size());
  for (const Message& row : rows) {
    Append(batch,
           {row.t_ns, row.thread, row.rank, static_cast<int64_t>(row.kind), row.function, row.communicator, row.peer,
            row.tag, row.bytes, row.site, row.post_ns, row.wait_ns, row.wait_site, row.cpu},
           {});
  }
  return batch;
}

Batch ToBatch(std::span<const Collective> rows) {
  Batch batch = Reserve(Table::kCollectives, rows.size());
  for (const Collective& row : rows) {
    Append(
        batch,
        {row.t_ns, row.thread, row.rank, row.function, row.communicator, row.sequence, row.root, row.bytes_sent,
         row.bytes_received, row.site, row.post_ns, row.wait_ns, row.cpu, row.communicator_rank, row.communicator_size},
        {});
  }
  return batch;
}

Batch InfoBatch(std::span<const std::pair<std::string, std::string>> rows) {
  Batch batch = Reserve(Table::kInfo, rows.size());
  for (const auto& [key, value] : rows) Append(batch, {}, {key, value});
  return batch;
}

std::vector<Element> ElementsFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Element> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (cells.Id(i, 0) == 0 || !cells.In(i, 2, 1, static_cast<int64_t>(kLastElementKind))) continue;
    rows.push_back({cells.Id(i, 0), cells.Id(i, 1), static_cast<ElementKind>(cells.Int(i, 2)), cells.Int(i, 3),
                    cells.Int(i, 4), cells.Int(i, 5), cells.Text(i, 0), cells.Text(i, 1)});
  }
  return rows;
}

std::vector<Series> SeriesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Series> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (cells.Id(i, 0) == 0 || !cells.In(i, 2, 1, static_cast<int64_t>(SeriesKind::kState)) || !cells.In(i, 3, -18, 18))
      continue;
    rows.push_back({cells.Id(i, 0), cells.Id(i, 1), static_cast<SeriesKind>(cells.Int(i, 2)),
                    static_cast<int>(cells.Int(i, 3)), cells.Int(i, 4), cells.Text(i, 0), cells.Text(i, 1),
                    cells.Text(i, 2), SumRuleFrom(cells.Int(i, 5))});
  }
  return rows;
}

std::vector<Stream> StreamsFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Stream> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    const StreamId id = cells.Id(i, 0);
    // Columns of a stream stand together and in order; anything else is foreign and is left out.
    if (id == 0 || cells.Id(i, 2) == 0) continue;
    if (cells.Int(i, 1) == 0) {
      rows.push_back({id, std::max<int64_t>(0, cells.Int(i, 3)), {}});
    } else if (rows.empty() || rows.back().id != id ||
               cells.Int(i, 1) != static_cast<int64_t>(rows.back().series.size())) {
      continue;
    }
    rows.back().series.push_back(cells.Id(i, 2));
  }
  return rows;
}

std::vector<Gap> GapsFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Gap> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (!cells.In(i, 4, 1, static_cast<int64_t>(GapReason::kRolled))) continue;
    rows.push_back(
        {cells.Id(i, 0), cells.Int(i, 1), cells.Int(i, 2), cells.Int(i, 3), static_cast<GapReason>(cells.Int(i, 4))});
  }
  return rows;
}

std::vector<Process> ProcessesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Process> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (cells.Id(i, 0) == 0) continue;
    Process row;
    row.id = cells.Id(i, 0);
    row.parent = cells.Id(i, 1);
    size_t column = 2;
    for (int64_t* field : {&row.pid, &row.start_ns, &row.end_ns, &row.exit_code, &row.exit_signal, &row.user_ns,
                           &row.system_ns, &row.minor_faults, &row.major_faults, &row.voluntary_switches,
                           &row.involuntary_switches, &row.max_rss_bytes}) {
      *field = cells.Int(i, column++);
    }
    row.host = cells.Text(i, 0);
    row.command = cells.Text(i, 1);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Label> LabelsFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Label> rows;
  for (size_t i = 0; i < batch.rows; ++i) rows.push_back({cells.Int(i, 0), cells.Text(i, 0)});
  return rows;
}

std::vector<Alarm> AlarmsFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Alarm> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (!cells.In(i, 2, 1, static_cast<int64_t>(AlarmState::kCleared)) ||
        !cells.In(i, 3, 1, static_cast<int64_t>(AlarmSeverity::kCritical)) || !cells.In(i, 8, -18, 18))
      continue;
    rows.push_back({cells.Int(i, 0), cells.Int(i, 1), static_cast<AlarmState>(cells.Int(i, 2)),
                    static_cast<AlarmSeverity>(cells.Int(i, 3)), cells.Id(i, 4), cells.Id(i, 5), cells.Int(i, 6),
                    cells.Int(i, 7), static_cast<int>(cells.Int(i, 8)), cells.Text(i, 0), cells.Text(i, 1),
                    cells.Text(i, 2), cells.Text(i, 3)});
  }
  return rows;
}

std::vector<Sync> SyncFrom(const Batch& batch) {
  const Cells cells(batch);
  const auto amount = [&](size_t row, size_t column) { return std::max<int64_t>(0, cells.Int(row, column)); };
  std::vector<Sync> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (!cells.In(i, 4, 1, static_cast<int64_t>(wire::kLastSyncKind))) continue;
    rows.push_back({cells.Int(i, 0), cells.Id(i, 1), cells.Id(i, 2), cells.Id(i, 3),
                    static_cast<wire::SyncKind>(cells.Int(i, 4)), amount(i, 5), amount(i, 6), amount(i, 7),
                    amount(i, 8), amount(i, 9)});
  }
  return rows;
}

std::vector<Stack> StacksFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Stack> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    // A parent comes before its children: no row can make a circle.
    const int64_t id = cells.Int(i, 0), parent = cells.Int(i, 1);
    if (id > 0 && parent >= 0 && parent < id) rows.push_back({id, parent, cells.Id(i, 2)});
  }
  return rows;
}

std::vector<CpuSample> CpuSamplesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<CpuSample> rows;
  rows.reserve(batch.rows);
  for (size_t i = 0; i < batch.rows; ++i) {
    rows.push_back({cells.Int(i, 0), cells.Id(i, 1), cells.Int(i, 2), cells.Id(i, 3), cells.Int(i, 4),
                    std::max<int64_t>(cells.Int(i, 5), 0)});
  }
  return rows;
}

std::vector<Access> AccessesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Access> rows;
  rows.reserve(batch.rows);
  for (size_t i = 0; i < batch.rows; ++i) {
    if (!cells.In(i, 4, 1, static_cast<int64_t>(AccessKind::kFirstTouch))) continue;
    rows.push_back({cells.Int(i, 0), cells.Id(i, 1), cells.Int(i, 2), cells.Id(i, 3),
                    static_cast<AccessKind>(cells.Int(i, 4)), cells.Int(i, 5), cells.Int(i, 6), cells.Int(i, 7),
                    cells.Int(i, 8), std::max<int64_t>(cells.Int(i, 9), 0)});
  }
  return rows;
}

std::vector<Message> MessagesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Message> rows;
  rows.reserve(batch.rows);
  for (size_t i = 0; i < batch.rows; ++i) {
    if (!cells.In(i, 0, 0, kLatestNs) || !cells.In(i, 3, 1, static_cast<int64_t>(MessageKind::kReceived))) continue;
    const int64_t t_ns = cells.Int(i, 0);
    rows.push_back({.t_ns = t_ns,
                    .thread = cells.Id(i, 1),
                    .rank = cells.Id(i, 2),
                    .kind = static_cast<MessageKind>(cells.Int(i, 3)),
                    .function = cells.Id(i, 4),
                    .communicator = cells.Id(i, 5),
                    .peer = cells.Id(i, 6),
                    .tag = cells.Int(i, 7),
                    .bytes = std::max<int64_t>(cells.Int(i, 8), 0),
                    .site = cells.Id(i, 9),
                    .post_ns = Before(t_ns, cells.Int(i, 10)),
                    .wait_ns = WaitBegin(t_ns, cells.Int(i, 11)),
                    .wait_site = cells.Id(i, 12),
                    .cpu = cells.Int(i, 13)});
  }
  return rows;
}

std::vector<Collective> CollectivesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Collective> rows;
  rows.reserve(batch.rows);
  for (size_t i = 0; i < batch.rows; ++i) {
    if (!cells.In(i, 0, 0, kLatestNs)) continue;
    const int64_t t_ns = cells.Int(i, 0);
    rows.push_back({.t_ns = t_ns,
                    .thread = cells.Id(i, 1),
                    .rank = cells.Id(i, 2),
                    .function = cells.Id(i, 3),
                    .communicator = cells.Id(i, 4),
                    .sequence = cells.Int(i, 5),
                    .root = cells.Int(i, 6),
                    .bytes_sent = std::max<int64_t>(cells.Int(i, 7), 0),
                    .bytes_received = std::max<int64_t>(cells.Int(i, 8), 0),
                    .site = cells.Id(i, 9),
                    .post_ns = Before(t_ns, cells.Int(i, 10)),
                    .wait_ns = WaitBegin(t_ns, cells.Int(i, 11)),
                    .cpu = cells.Int(i, 12),
                    .communicator_rank = cells.Int(i, 13),
                    .communicator_size = cells.Int(i, 14)});
  }
  return rows;
}

std::vector<Site> SitesFrom(const Batch& batch) {
  const Cells cells(batch);
  std::vector<Site> rows;
  for (size_t i = 0; i < batch.rows; ++i) {
    if (cells.Id(i, 0) == 0 || !cells.In(i, 1, 0, kMaxFrame)) continue;
    rows.push_back({cells.Id(i, 0), cells.Int(i, 1), cells.Int(i, 2), cells.Int(i, 3), cells.Int(i, 4) == 1,
                    cells.Text(i, 0), cells.Text(i, 1), cells.Text(i, 2), cells.Text(i, 3)});
  }
  return rows;
}

std::pair<int64_t, int64_t> TimeExtent(const Batch& batch) {
  const TableSchema* schema = FindSchema(batch.table);
  if (schema == nullptr || schema->time_column < 0 || batch.rows == 0) return {0, 0};
  const auto& times = batch.ints[static_cast<size_t>(schema->time_column)];
  const auto [low, high] = std::minmax_element(times.begin(), times.end());
  return {*low, *high};
}

const Element* Metadata::FindElement(ElementId id) const { return FindById(elements, id); }
const Series* Metadata::FindSeries(SeriesId id) const { return FindById(series, id); }

}  // namespace attune::model
