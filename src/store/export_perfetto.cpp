/// A Perfetto trace: protobuf packets, written by hand. The numbers are those of perfetto's protos/perfetto/trace.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "store/export_encoder.h"
#include "store/lod.h"
#include "wire/event.h"

namespace attune::store {
namespace {

using model::ElementKind;
using model::kAbsent;
using wire::EventKind;

namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kSequenceFlags = 13,
                   kClockId = 58, kTrackDescriptor = 60;
constexpr uint64_t kIncrementalStateCleared = 1;
}  // namespace packet
namespace clock_snapshot {
constexpr uint32_t kClocks = 1, kPrimaryClock = 2;
constexpr uint32_t kId = 1, kTimestamp = 2;  // of a clock
constexpr uint64_t kRealtime = 1, kMonotonic = 3;
}  // namespace clock_snapshot
namespace track_descriptor {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParentUuid = 5, kCounter = 8;
constexpr uint32_t kProcessPid = 1, kProcessCommand = 2, kProcessName = 6;
constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
constexpr uint32_t kCounterUnitName = 6;
}  // namespace track_descriptor
namespace track_event {
constexpr uint32_t kDebugAnnotations = 4, kType = 9, kTrackUuid = 11, kName = 23, kDoubleCounterValue = 44,
                   kFlowIds = 47, kTerminatingFlowIds = 48;
constexpr uint32_t kAnnotationInt = 4, kAnnotationName = 10;
enum Type : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace track_event

/// Encodes one protobuf message.
class Message {
 public:
  Message& Varint(uint32_t field, uint64_t value) {
    Tag(field, 0);
    Put(value);
    return *this;
  }
  Message& Fixed64(uint32_t field, uint64_t value) {
    Tag(field, 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  Message& Double(uint32_t field, double value) { return Fixed64(field, std::bit_cast<uint64_t>(value)); }
  Message& Bytes(uint32_t field, std::string_view value) {
    Tag(field, 2);
    Put(value.size());
    bytes_ += value;
    return *this;
  }
  Message& Text(uint32_t field, std::string_view value) { return Bytes(field, CleanText(value)); }
  Message& Sub(uint32_t field, const Message& message) { return Bytes(field, message.bytes_); }

  void Clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  void Tag(uint32_t field, uint32_t wire_type) { Put(field << 3 | wire_type); }
  void Put(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

/// Tracks of elements have the element's id as uuid; the others lie above all of these.
constexpr uint64_t kFirstSeriesUuid = uint64_t{1} << 32;
constexpr uint64_t kLabelsUuid = uint64_t{1} << 33;
constexpr uint64_t kFirstAlarmUuid = uint64_t{1} << 34;

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
  PerfettoEncoder(const model::Metadata& metadata, ExportOutput& output) : metadata_(metadata), output_(output) {}

  void Begin() override;
  void BeginStream(const model::Stream& stream) override;
  bool Samples(const model::SampleBlock& block) override;
  bool BeginEvents() override { return true; }
  bool Events(const model::EventBlock& block) override;
  void End() override {}

 private:
  struct Counter {
    model::SeriesId series = 0;
    bool is_rate = false;
    double factor = 1;
    int64_t t_ns = 0;  ///< of the value before
    int64_t value = kAbsent;
  };

  void PutPacket(uint32_t field, const Message& content, int64_t t_ns);
  void PutEvent(int64_t t_ns) { PutPacket(packet::kTrackEvent, event_, t_ns); }
  /// Begins event_ anew.
  Message& NewEvent(track_event::Type type, uint64_t track);
  void Annotate(std::string_view name, int64_t value);
  void PutClocks();
  void PutElementTrack(const model::Element& element);
  void PutCounterTrack(const model::Series& series);
  void PutLabels();
  void PutAlarms();
  void PutRow(const model::EventBlock& block, size_t row);
  void PutRegionEnd(int64_t t_ns, int64_t thread, int64_t object);
  const model::Element* ProcessOf(model::ElementId id) const;
  std::string NameOf(int64_t element) const;

  const model::Metadata& metadata_;
  ExportOutput& output_;
  std::vector<Counter> counters_;               ///< of the stream that is read
  std::set<model::SeriesId> described_series_;  ///< a series can be in several streams
  std::set<int64_t> described_threads_;
  std::unordered_map<int64_t, std::vector<int64_t>> open_regions_;  ///< of each thread, the outermost first
  bool first_packet_ = true;
  Message event_;
  Message packet_;
  Message annotation_;
};

void PerfettoEncoder::PutPacket(uint32_t field, const Message& content, int64_t t_ns) {
  packet_.Clear();
  packet_.Varint(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(t_ns, 0)))
      .Varint(packet::kSequenceId, 1)
      .Sub(field, content);
  if (first_packet_) packet_.Varint(packet::kSequenceFlags, packet::kIncrementalStateCleared);
  first_packet_ = false;
  packet_.Varint(packet::kClockId, clock_snapshot::kMonotonic);
  Message framed;
  framed.Sub(trace::kPacket, packet_);
  output_.bytes() += framed.bytes();
}

Message& PerfettoEncoder::NewEvent(track_event::Type type, uint64_t track) {
  event_.Clear();
  return event_.Varint(track_event::kType, type).Varint(track_event::kTrackUuid, track);
}

void PerfettoEncoder::Annotate(std::string_view name, int64_t value) {
  annotation_.Clear();
  annotation_.Text(track_event::kAnnotationName, name)
      .Varint(track_event::kAnnotationInt, static_cast<uint64_t>(value));
  event_.Sub(track_event::kDebugAnnotations, annotation_);
}

void PerfettoEncoder::Begin() {
  PutClocks();
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
    return Message().Varint(clock_snapshot::kId, id).Varint(clock_snapshot::kTimestamp, t_ns);
  };
  Message snapshot;
  snapshot.Sub(clock_snapshot::kClocks, clock(clock_snapshot::kMonotonic, monotonic_ns));
  if (offset_ns != 0) {
    const uint64_t real_ns = monotonic_ns + static_cast<uint64_t>(offset_ns);
    snapshot.Sub(clock_snapshot::kClocks, clock(clock_snapshot::kRealtime, real_ns));
  }
  snapshot.Varint(clock_snapshot::kPrimaryClock, clock_snapshot::kMonotonic);
  PutPacket(packet::kClockSnapshot, snapshot, static_cast<int64_t>(monotonic_ns));
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

std::string PerfettoEncoder::NameOf(int64_t element) const {
  const model::Element* found = nullptr;
  if (element > 0 && element <= UINT32_MAX) found = metadata_.FindElement(static_cast<model::ElementId>(element));
  return found == nullptr ? fmt::format("element {}", element) : found->name;
}

void PerfettoEncoder::PutElementTrack(const model::Element& element) {
  using namespace track_descriptor;
  const model::Element* process = ProcessOf(element.id);
  const bool has_ids = process != nullptr && process->os_id != kAbsent && element.os_id != kAbsent;
  Message track;
  track.Varint(kUuid, element.id);
  if (!has_ids) {
    track.Text(kName, element.name);
  } else if (element.kind == ElementKind::kProcess) {
    Message content;
    content.Varint(kProcessPid, static_cast<uint64_t>(element.os_id)).Text(kProcessName, element.name);
    const auto& rows = metadata_.processes;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.id == element.id; });
    if (row != rows.end()) content.Text(kProcessCommand, row->command);
    track.Sub(kProcess, content);
  } else {
    Message content;
    content.Varint(kThreadPid, static_cast<uint64_t>(process->os_id))
        .Varint(kThreadTid, static_cast<uint64_t>(element.os_id))
        .Text(kThreadName, element.name);
    track.Varint(kParentUuid, process->id).Sub(kThread, content);
  }
  if (element.kind == ElementKind::kThread) described_threads_.insert(element.id);
  PutPacket(packet::kTrackDescriptor, track, element.start_ns);
}

void PerfettoEncoder::PutCounterTrack(const model::Series& series) {
  using namespace track_descriptor;
  const model::Element* element = metadata_.FindElement(series.element);
  const model::Element* process = ProcessOf(series.element);
  const bool is_rate = series.kind == model::SeriesKind::kCounter;
  Message counter;
  counter.Text(kCounterUnitName, is_rate ? series.unit + "/s" : series.unit);
  Message track;
  track.Varint(kUuid, kFirstSeriesUuid + series.id)
      .Text(kName, fmt::format("{}.{} {}", series.sensor, series.signal, element == nullptr ? "" : element->name));
  if (process != nullptr) track.Varint(kParentUuid, process->id);
  track.Sub(kCounter, counter);
  PutPacket(packet::kTrackDescriptor, track, 0);
}

void PerfettoEncoder::PutLabels() {
  if (metadata_.labels.empty()) return;
  Message track;
  track.Varint(track_descriptor::kUuid, kLabelsUuid).Text(track_descriptor::kName, "labels");
  PutPacket(packet::kTrackDescriptor, track, 0);
  for (const model::Label& label : metadata_.labels) {
    NewEvent(track_event::kInstant, kLabelsUuid).Text(track_event::kName, label.text);
    PutEvent(label.t_ns);
  }
}

/// A track for each alarm of each element, because slices of one track would have to lie in each other.
void PerfettoEncoder::PutAlarms() {
  std::map<std::pair<std::string, model::ElementId>, uint64_t> tracks;
  for (const model::Alarm& alarm : metadata_.alarms) {
    const auto [found, is_new] =
        tracks.try_emplace({alarm.alarm, alarm.element}, kFirstAlarmUuid + static_cast<uint64_t>(tracks.size()));
    if (is_new) {
      const model::Element* element = metadata_.FindElement(alarm.element);
      Message track;
      track.Varint(track_descriptor::kUuid, found->second)
          .Text(track_descriptor::kName,
                fmt::format("alarm {} {}", alarm.alarm, element == nullptr ? "" : element->name));
      PutPacket(packet::kTrackDescriptor, track, 0);
    }
    if (alarm.state == model::AlarmState::kRaised) {
      NewEvent(track_event::kSliceBegin, found->second).Text(track_event::kName, alarm.text);
    } else {
      NewEvent(track_event::kSliceEnd, found->second);
    }
    PutEvent(alarm.t_ns);
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
    counter.factor = std::pow(10.0, series->scale);
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
        const Growth growth = GrowthBetween(counter.t_ns, counter.value, t_ns, value);
        shown = std::isnan(growth.amount) ? growth.amount : growth.PerSecond();
        counter.t_ns = t_ns;
        counter.value = value;
      }
      if (counter.series == 0 || value == kAbsent || std::isnan(shown)) continue;
      NewEvent(track_event::kCounter, kFirstSeriesUuid + counter.series)
          .Double(track_event::kDoubleCounterValue, shown * counter.factor);
      PutEvent(t_ns);
    }
    if (!output_.Drain()) return false;
  }
  return true;
}

bool PerfettoEncoder::Events(const model::EventBlock& block) {
  for (size_t row = 0; row < block.t_ns.size(); ++row) {
    const int64_t thread = block.thread[row];
    if (described_threads_.insert(thread).second) {  // only where its row was lost
      Message track;
      track.Varint(track_descriptor::kUuid, static_cast<uint64_t>(thread))
          .Text(track_descriptor::kName, fmt::format("thread {}", thread));
      PutPacket(packet::kTrackDescriptor, track, 0);
    }
    PutRow(block, row);
    if (!output_.Drain()) return false;
  }
  return true;
}

void PerfettoEncoder::PutRow(const model::EventBlock& block, size_t row) {
  const int64_t t_ns = block.t_ns[row];
  const auto track = static_cast<uint64_t>(block.thread[row]);
  const std::string name = NameOf(block.object[row]);
  switch (block.kind[row]) {
    case static_cast<int64_t>(EventKind::kRegionBegin):
      open_regions_[block.thread[row]].push_back(block.object[row]);
      NewEvent(track_event::kSliceBegin, track).Text(track_event::kName, name);
      break;
    case static_cast<int64_t>(EventKind::kRegionEnd): return PutRegionEnd(t_ns, block.thread[row], block.object[row]);
    case static_cast<int64_t>(EventKind::kInstant):
      NewEvent(track_event::kInstant, track).Text(track_event::kName, name);
      Annotate("value", block.a[row]);
      break;
    case static_cast<int64_t>(EventKind::kSend):
    case static_cast<int64_t>(EventKind::kReceive): {
      const bool sends = block.kind[row] == static_cast<int64_t>(EventKind::kSend);
      NewEvent(track_event::kInstant, track).Text(track_event::kName, (sends ? "send " : "receive ") + name);
      Annotate("bytes", block.a[row]);
      Annotate("tag", block.b[row]);
      // A receive ends the flow, so that no arrow leads from it to the next send of the same tag.
      event_.Fixed64(sends ? track_event::kFlowIds : track_event::kTerminatingFlowIds, FlowId(name, block.b[row]));
      break;
    }
    case static_cast<int64_t>(EventKind::kWait):
    case static_cast<int64_t>(EventKind::kShortWaits):
      NewEvent(track_event::kSliceBegin, track)
          .Text(track_event::kName,
                (block.kind[row] == static_cast<int64_t>(EventKind::kWait) ? "wait for " : "short waits for ") + name);
      PutEvent(t_ns - std::max<int64_t>(0, block.a[row]));
      NewEvent(track_event::kSliceEnd, track);
      break;
    default: return;
  }
  PutEvent(t_ns);
}

/// A slice's end names no slice: it ends the innermost. The ends that are missing are made up, the begins are not.
void PerfettoEncoder::PutRegionEnd(int64_t t_ns, int64_t thread, int64_t object) {
  auto& open = open_regions_[thread];
  if (std::find(open.begin(), open.end(), object) == open.end()) return;
  for (bool found = false; !found; open.pop_back()) {
    found = open.back() == object;
    NewEvent(track_event::kSliceEnd, static_cast<uint64_t>(thread));
    PutEvent(t_ns);
  }
}

}  // namespace

std::unique_ptr<ExportEncoder> MakePerfettoEncoder(const model::Metadata& metadata, ExportOutput& output) {
  return std::make_unique<PerfettoEncoder>(metadata, output);
}

}  // namespace attune::store
