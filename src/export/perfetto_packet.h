#pragma once
/// Packets of a Perfetto trace: protobuf, written by hand. The numbers are those of perfetto's protos/perfetto/trace.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "export/export_encoder.h"

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

/// Writes packets to the output. @thread one
class PacketWriter {
 public:
  explicit PacketWriter(ExportOutput& output) : output_(output) {}

  void Put(uint32_t field, const Proto& content, int64_t t_ns);
  /// Begins an event anew; it is of this writer until the next one.
  Proto& NewEvent(track_event::Type type, uint64_t track);
  Proto& event() { return event_; }
  void Annotate(std::string_view name, int64_t value);
  void Annotate(std::string_view name, std::string_view text);
  void PutEvent(int64_t t_ns) { Put(packet::kTrackEvent, event_, t_ns); }
  /// False: a write failed.
  bool Drain() { return output_.Drain(); }

 private:
  ExportOutput& output_;
  bool first_packet_ = true;
  Proto event_;
  Proto packet_;
  Proto annotation_;
};

}  // namespace attune::exports::perfetto
