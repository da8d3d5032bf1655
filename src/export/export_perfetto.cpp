/// A recording as a Perfetto trace.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "export/export_encoder.h"
#include "export/perfetto_mpi.h"
#include "export/perfetto_packet.h"
#include "model/series_values.h"
#include "wire/event.h"

namespace attune::exports {
namespace {

using model::ElementKind;
using model::kAbsent;
using wire::EventKind;

using namespace perfetto;

/// Tracks of elements have the element's id as uuid; the others lie above all of these.
constexpr uint64_t kFirstSeriesUuid = uint64_t{1} << 32;
constexpr uint64_t kLabelsUuid = uint64_t{1} << 33;
constexpr uint64_t kFirstAlarmUuid = uint64_t{1} << 34;
/// Each thread has room for so many states.
constexpr uint64_t kFirstStateUuid = uint64_t{1} << 48;
constexpr int kBitsOfStates = 8;

/// Messages of one channel and tag are one flow; a channel has an element in each process, but one name.
uint64_t FlowId(std::string_view channel, int64_t tag) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3; };
  for (const char c : channel) add(static_cast<unsigned char>(c));
  for (int i = 0; i < 8; ++i) add(static_cast<unsigned char>(static_cast<uint64_t>(tag) >> (8 * i) & 0xff));
  return hash == 0 ? 1 : hash;
}

class PerfettoEncoder : public ExportEncoder {
 public:
  PerfettoEncoder(const model::Metadata& metadata, ExportOutput& output)
      : metadata_(metadata), writer_(output), mpi_(metadata, writer_) {}

  void Begin() override;
  void BeginStream(const model::Stream& stream) override;
  bool Samples(const model::SampleBlock& block) override;
  bool BeginEvents() override { return true; }
  bool Events(const model::EventBlock& block) override;
  bool BeginTable(const model::TableSchema& schema) override { return AdderOf(schema.table) != nullptr; }
  bool Rows(const model::TableSchema& schema, const model::Batch& batch) override {
    return (this->*AdderOf(schema.table))(batch);
  }
  bool BeginPairs() override { return true; }
  bool Pair(const model::Message& sent, const model::Message& received) override { return mpi_.Add(sent, received); }
  bool BeginStates() override { return true; }
  bool States(const analysis::StateParts& parts) override;

 private:
  struct Counter {
    model::SeriesId series = 0;
    bool is_rate = false;
    double factor = 1;
    model::StepSpreader steps;
    int64_t t_ns = 0;  ///< time of the value before
    int64_t value = kAbsent;
  };

  template <class Row>
  bool Add(const model::Batch& batch) {
    return mpi_.Add(model::RowsFrom<Row>(batch));
  }
  /// nullptr: the format has no place for the table.
  static auto AdderOf(model::Table table) -> bool (PerfettoEncoder::*)(const model::Batch&) {
    constexpr std::array kAdders{std::pair{model::Sync::kTable, &PerfettoEncoder::Add<model::Sync>},
                                 std::pair{model::Message::kTable, &PerfettoEncoder::Add<model::Message>},
                                 std::pair{model::Collective::kTable, &PerfettoEncoder::Add<model::Collective>}};
    for (const auto& [shown, add] : kAdders) {
      if (shown == table) return add;
    }
    return nullptr;
  }
  void PutClocks();
  void PutElementTrack(const model::Element& element);
  void PutCounterTrack(const model::Series& series);
  void PutState(const analysis::StateParts& parts, const analysis::ThreadStates& thread, size_t line);
  void PutLabels();
  void PutAlarms();
  void PutRow(const model::EventBlock& block, size_t row);
  void PutRegionEnd(int64_t t_ns, int64_t thread, int64_t object);
  const model::Element* ProcessOf(model::ElementId id) const;
  std::string ProcessName(const model::Element& process) const;
  int64_t UniqueId(const model::Element& process, int64_t id) const;

  const model::Metadata& metadata_;
  PacketWriter writer_;
  PerfettoMpi mpi_;
  std::map<std::string, int64_t> hosts_;        ///< their numbers
  std::vector<Counter> counters_;               ///< counters of the stream that is read
  std::set<model::SeriesId> described_series_;  ///< a series can be in several streams
  std::set<int64_t> described_threads_;
  std::unordered_map<int64_t, std::vector<int64_t>> open_regions_;  ///< by thread, the outermost first
};

void PerfettoEncoder::Begin() {
  PutClocks();
  for (const model::Element& element : metadata_.elements) {
    if (element.kind == ElementKind::kProcess) hosts_.try_emplace(element.host, static_cast<int64_t>(hosts_.size()));
  }
  for (const model::Element& element : metadata_.elements) {
    if (element.kind == ElementKind::kProcess || element.kind == ElementKind::kThread) PutElementTrack(element);
  }
  PutLabels();
  PutAlarms();
}

/// The trace's time is the monotonic clock. What it was on the wall, at the first row of the recording's clock.
void PerfettoEncoder::PutClocks() {
  const int64_t offset_ns = metadata_.real_minus_monotonic_ns;
  const auto monotonic_ns = static_cast<uint64_t>(std::max<int64_t>(1, offset_ns < 0 ? 1 - offset_ns : 1));
  const auto clock = [](uint64_t id, uint64_t t_ns) {
    return Proto().Varint(clock_snapshot::kId, id).Varint(clock_snapshot::kTimestamp, t_ns);
  };
  Proto snapshot;
  snapshot.Sub(clock_snapshot::kClocks, clock(clock_snapshot::kMonotonic, monotonic_ns));
  if (offset_ns != 0) {
    const uint64_t real_ns = monotonic_ns + static_cast<uint64_t>(offset_ns);
    snapshot.Sub(clock_snapshot::kClocks, clock(clock_snapshot::kRealtime, real_ns));
  }
  snapshot.Varint(clock_snapshot::kPrimaryClock, clock_snapshot::kMonotonic);
  writer_.Put(packet::kClockSnapshot, snapshot, static_cast<int64_t>(monotonic_ns));
}

const model::Element* PerfettoEncoder::ProcessOf(model::ElementId id) const {
  constexpr int kMostAncestors = 64;  // a damaged file may have a circle
  const model::Element* element = metadata_.FindElement(id);
  for (int i = 0; i < kMostAncestors && element != nullptr; ++i) {
    if (element->kind == ElementKind::kProcess) return element;
    element = metadata_.FindElement(element->parent);
  }
  return nullptr;
}

/// Processes and threads of several hosts may have the same numbers, which the trace must not: those of the second host
/// lie above all that the first can have, and so on.
int64_t PerfettoEncoder::UniqueId(const model::Element& process, int64_t id) const {
  constexpr int kBitsOfIds = 22;  // the kernel gives out no larger ones
  const auto host = hosts_.find(process.host);
  return host == hosts_.end() ? id : id + (host->second << kBitsOfIds);
}

/// With its rank in an MPI job, and its host where there are several.
std::string PerfettoEncoder::ProcessName(const model::Element& process) const {
  const model::Element* rank = metadata_.FindElement(process.parent);
  std::string name = process.name;
  if (rank != nullptr && rank->kind == ElementKind::kRank) name = fmt::format("{}: {}", rank->name, name);
  return hosts_.size() < 2 ? name : fmt::format("{} on {}", name, process.host);
}

void PerfettoEncoder::PutElementTrack(const model::Element& element) {
  using namespace track_descriptor;
  const model::Element* process = ProcessOf(element.id);
  const bool has_ids = process != nullptr && process->os_id != kAbsent && element.os_id != kAbsent;
  Proto track;
  track.Varint(kUuid, element.id);
  if (!has_ids) {
    track.Text(kName, element.name);
  } else if (element.kind == ElementKind::kProcess) {
    Proto content;
    content.Varint(kProcessPid, static_cast<uint64_t>(UniqueId(element, element.os_id)))
        .Text(kProcessName, ProcessName(element));
    const auto& rows = metadata_.processes;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.id == element.id; });
    if (row != rows.end()) content.Text(kProcessCommand, row->command);
    track.Sub(kProcess, content);
  } else {
    Proto content;
    content.Varint(kThreadPid, static_cast<uint64_t>(UniqueId(*process, process->os_id)))
        .Varint(kThreadTid, static_cast<uint64_t>(UniqueId(*process, element.os_id)))
        .Text(kThreadName, element.name);
    track.Varint(kParentUuid, process->id).Sub(kThread, content);
  }
  if (element.kind == ElementKind::kThread) described_threads_.insert(element.id);
  writer_.PutTrack(track, element.start_ns);
}

void PerfettoEncoder::PutCounterTrack(const model::Series& series) {
  using namespace track_descriptor;
  const model::Element* process = ProcessOf(series.element);
  const bool is_rate = series.kind == model::SeriesKind::kCounter;
  Proto counter;
  counter.Text(kCounterUnitName, is_rate ? series.unit + "/s" : series.unit);
  Proto track =
      PacketWriter::NamedTrack(kFirstSeriesUuid + series.id,
                               fmt::format("{}.{} {}", series.sensor, series.signal, metadata_.NameOf(series.element)));
  if (process != nullptr) track.Varint(kParentUuid, process->id);
  writer_.PutTrack(track.Sub(kCounter, counter));
}

void PerfettoEncoder::PutLabels() {
  if (metadata_.labels.empty()) return;
  writer_.PutTrack(kLabelsUuid, "labels");
  for (const model::Label& label : metadata_.labels) writer_.Instant(kLabelsUuid, label.text).At(label.t_ns);
}

/// A track for each alarm of each element, because slices of one track would have to lie in each other.
void PerfettoEncoder::PutAlarms() {
  std::map<std::pair<std::string, model::ElementId>, uint64_t> tracks;
  for (const model::Alarm& alarm : metadata_.alarms) {
    const auto [found, is_new] =
        tracks.try_emplace({alarm.alarm, alarm.element}, kFirstAlarmUuid + static_cast<uint64_t>(tracks.size()));
    if (is_new)
      writer_.PutTrack(found->second, fmt::format("alarm {} {}", alarm.alarm, metadata_.NameOf(alarm.element)));
    const bool begins = alarm.state == model::AlarmState::kRaised;
    (begins ? writer_.Begin(found->second, alarm.text) : writer_.End(found->second)).At(alarm.t_ns);
  }
}

void PerfettoEncoder::BeginStream(const model::Stream& stream) {
  counters_.clear();
  for (const model::SeriesId id : stream.series) {
    Counter& counter = counters_.emplace_back();
    const model::Series* series = metadata_.FindSeries(id);
    if (series == nullptr) continue;
    counter.series = id;
    counter.is_rate = series->kind == model::SeriesKind::kCounter;
    counter.steps = model::StepSpreader(series->max_per_second);
    counter.factor = series->Factor();
    if (described_series_.insert(id).second) PutCounterTrack(*series);
  }
}

bool PerfettoEncoder::Samples(const model::SampleBlock& block) {
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    const int64_t t_ns = block.t_ns[row];
    for (size_t i = 0; i < block.columns.size(); ++i) {
      Counter& counter = counters_[i];
      const int64_t value = block.columns[i][row];
      double shown = static_cast<double>(value);
      if (counter.is_rate) {
        const model::Growth growth = model::GrowthBetween(counter.t_ns, counter.value, t_ns, value);
        shown = counter.steps.Next(growth).PerSecond();
        counter.t_ns = t_ns;
        counter.value = value;
      }
      if (counter.series == 0 || value == kAbsent || std::isnan(shown)) continue;
      writer_.Count(kFirstSeriesUuid + counter.series, shown * counter.factor).At(t_ns);
    }
    if (!writer_.Drain()) return false;
  }
  return true;
}

bool PerfettoEncoder::States(const analysis::StateParts& parts) {
  for (const analysis::ThreadStates& thread : parts.threads) {
    for (size_t line = 0; line < thread.lines.size(); ++line) {
      PutState(parts, thread, line);
      if (!writer_.Drain()) return false;
    }
  }
  return true;
}

/// A counter in percent of the time: the order of states within a part is not known, so that they are no slices.
void PerfettoEncoder::PutState(const analysis::StateParts& parts, const analysis::ThreadStates& thread, size_t line) {
  const analysis::StateLine& state = thread.lines[line];
  const uint64_t uuid = kFirstStateUuid + (uint64_t{thread.thread} << kBitsOfStates) + line;
  Proto counter;
  counter.Text(track_descriptor::kCounterUnitName, "%");
  Proto track = PacketWriter::NamedTrack(uuid, fmt::format("state {}", state.name));
  writer_.PutTrack(track.Varint(track_descriptor::kParentUuid, thread.thread).Sub(track_descriptor::kCounter, counter));
  double last = 0;
  const auto put = [&](int64_t t_ns, int64_t ns, int64_t of_ns) {
    const double percent = 100 * static_cast<double>(ns) / static_cast<double>(of_ns);
    if (percent != last) writer_.Count(uuid, percent).At(t_ns);
    last = percent;
  };
  if (state.before_ns > 0) put(thread.start_ns, state.before_ns, parts.t0_ns - thread.start_ns);
  if (state.before_ns > 0 && state.first > 0) put(parts.t0_ns, 0, 1);
  for (size_t i = 0; i < state.ns.size(); ++i) put(parts.BeginOf(state.first + i), state.ns[i], parts.width_ns);
  put(parts.BeginOf(state.first + state.ns.size()), 0, 1);
}

bool PerfettoEncoder::Events(const model::EventBlock& block) {
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    const int64_t thread = block.thread[row];
    if (described_threads_.insert(thread).second)  // only where its row was lost
      writer_.PutTrack(static_cast<uint64_t>(thread), fmt::format("thread {}", thread));
    PutRow(block, row);
    if (!writer_.Drain()) return false;
  }
  return true;
}

void PerfettoEncoder::PutRow(const model::EventBlock& block, size_t row) {
  const int64_t t_ns = block.t_ns[row];
  const auto track = static_cast<uint64_t>(block.thread[row]);
  const std::string name = NameOf(metadata_, block.object[row]);
  const auto kind = static_cast<EventKind>(std::clamp<int64_t>(block.kind[row], 0, UINT8_MAX));  // foreign
  switch (kind) {
    case EventKind::kRegionBegin:
      open_regions_[block.thread[row]].push_back(block.object[row]);
      return writer_.Begin(track, name).At(t_ns);
    case EventKind::kRegionEnd: return PutRegionEnd(t_ns, block.thread[row], block.object[row]);
    case EventKind::kInstant: return writer_.Instant(track, name).Arg("value", block.a[row]).At(t_ns);
    case EventKind::kSend:
    case EventKind::kReceive: {
      const bool ends = kind == EventKind::kReceive;
      writer_.Instant(track, (ends ? "receive " : "send ") + name).Arg("bytes", block.a[row]).Arg("tag", block.b[row]);
      // A receive ends the flow, so that no arrow leads from it to the next send of the same tag.
      return writer_.Flow(FlowId(name, block.b[row]), ends).At(t_ns);
    }
    case EventKind::kWait:
    case EventKind::kShortWaits:
      writer_.Begin(track, (kind == EventKind::kWait ? "wait for " : "short waits for ") + name)
          .At(t_ns - std::max<int64_t>(0, block.a[row]));
      return writer_.End(track).At(t_ns);
    default: return;
  }
}

/// A slice's end names no slice: it ends the innermost. The ends that are missing are made up, the begins are not.
void PerfettoEncoder::PutRegionEnd(int64_t t_ns, int64_t thread, int64_t object) {
  auto& open = open_regions_[thread];
  if (std::find(open.begin(), open.end(), object) == open.end()) return;
  for (bool found = false; !found; open.pop_back()) {
    found = open.back() == object;
    writer_.End(static_cast<uint64_t>(thread)).At(t_ns);
  }
}

}  // namespace

constinit const ExportFormat ExportFormat::kPerfetto{MakeEncoder<PerfettoEncoder>};

}  // namespace attune::exports
