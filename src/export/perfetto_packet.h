#pragma once
/// Packets of a Perfetto trace: protobuf, written by hand. The numbers are those of perfetto's protos/perfetto/trace.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/text.h"
#include "export/export_encoder.h"
#include "model/source.h"

namespace attune::exports::perfetto {

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
constexpr uint32_t kId = 1, kTimestamp = 2;  // fields of a clock
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
constexpr uint32_t kAnnotationInt = 4, kAnnotationString = 6, kAnnotationName = 10;
enum Type : uint64_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace track_event

/// Encodes one protobuf message.
class Proto {
 public:
  Proto& Varint(uint32_t field, uint64_t value) {
    Tag(field, 0);
    Put(value);
    return *this;
  }
  Proto& Fixed64(uint32_t field, uint64_t value) {
    Tag(field, 1);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  Proto& Double(uint32_t field, double value) { return Fixed64(field, std::bit_cast<uint64_t>(value)); }
  Proto& Bytes(uint32_t field, std::string_view value) {
    Tag(field, 2);
    Put(value.size());
    bytes_ += value;
    return *this;
  }
  Proto& Text(uint32_t field, std::string_view value) { return Bytes(field, CleanText(value)); }
  Proto& Sub(uint32_t field, const Proto& message) { return Bytes(field, message.bytes_); }

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

/// "element 7" where the recording does not say what it is called.
std::string NameOf(const model::Metadata& metadata, int64_t element);

/// Writes tracks and what is on them. An event is what begins with Begin, End, Instant or Count and ends with At:
/// `writer.Instant(track, "send").Arg("bytes", 8).At(t_ns)`. @thread one
class PacketWriter {
 public:
  using Value = std::variant<int64_t, std::string_view>;

  explicit PacketWriter(ExportOutput& output) : output_(output) {}

  void Put(uint32_t field, const Proto& content, int64_t t_ns);
  void PutTrack(const Proto& track, int64_t t_ns = 0) { Put(packet::kTrackDescriptor, track, t_ns); }
  void PutTrack(uint64_t track, std::string_view name) { PutTrack(NamedTrack(track, name)); }
  static Proto NamedTrack(uint64_t track, std::string_view name) {
    return Proto().Varint(track_descriptor::kUuid, track).Text(track_descriptor::kName, name);
  }

  PacketWriter& Begin(uint64_t track, std::string_view name) { return New(track_event::kSliceBegin, track, name); }
  /// Ends the innermost slice.
  PacketWriter& End(uint64_t track) { return New(track_event::kSliceEnd, track); }
  PacketWriter& Instant(uint64_t track, std::string_view name) { return New(track_event::kInstant, track, name); }
  PacketWriter& Count(uint64_t track, double value);
  PacketWriter& Arg(std::string_view name, const Value& value);
  PacketWriter& ArgIfKnown(std::string_view name, int64_t value) {
    return value == model::kAbsent ? *this : Arg(name, value);
  }
  /// An arrow comes from here, or ends here.
  PacketWriter& Flow(uint64_t id, bool ends) {
    event_.Fixed64(ends ? track_event::kTerminatingFlowIds : track_event::kFlowIds, id);
    return *this;
  }
  void At(int64_t t_ns) { Put(packet::kTrackEvent, event_, t_ns); }

  /// False: a write failed.
  bool Drain() { return output_.Drain(); }

 private:
  PacketWriter& New(track_event::Type type, uint64_t track, std::optional<std::string_view> name = {});

  ExportOutput& output_;
  bool first_packet_ = true;
  Proto event_;
  Proto packet_;
  Proto annotation_;
};

}  // namespace attune::exports::perfetto
