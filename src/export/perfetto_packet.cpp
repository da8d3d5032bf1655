#include "export/perfetto_packet.h"

#include <fmt/format.h>

namespace attune::exports::perfetto {

std::string NameOf(const model::Metadata& metadata, int64_t element) {
  const model::Element* found = nullptr;
  if (element > 0 && element <= UINT32_MAX) found = metadata.FindElement(static_cast<model::ElementId>(element));
  return found == nullptr ? fmt::format("element {}", element) : found->name;
}

void PacketWriter::Put(uint32_t field, const Proto& content, int64_t t_ns) {
  packet_.Clear();
  packet_.Varint(packet::kTimestamp, static_cast<uint64_t>(std::max<int64_t>(t_ns, 0)))
      .Varint(packet::kSequenceId, 1)
      .Sub(field, content);
  if (first_packet_) packet_.Varint(packet::kSequenceFlags, packet::kIncrementalStateCleared);
  first_packet_ = false;
  packet_.Varint(packet::kClockId, clock_snapshot::kMonotonic);
  Proto framed;
  framed.Sub(trace::kPacket, packet_);
  output_.bytes() += framed.bytes();
}

PacketWriter& PacketWriter::New(track_event::Type type, uint64_t track, std::optional<std::string_view> name) {
  event_.Clear();
  event_.Varint(track_event::kType, type).Varint(track_event::kTrackUuid, track);
  if (name) event_.Text(track_event::kName, *name);
  return *this;
}

PacketWriter& PacketWriter::Count(uint64_t track, double value) {
  New(track_event::kCounter, track).event_.Double(track_event::kDoubleCounterValue, value);
  return *this;
}

PacketWriter& PacketWriter::Arg(std::string_view name, const Value& value) {
  annotation_.Clear();
  annotation_.Text(track_event::kAnnotationName, name);
  if (const auto* number = std::get_if<int64_t>(&value)) {
    annotation_.Varint(track_event::kAnnotationInt, static_cast<uint64_t>(*number));
  } else {
    annotation_.Text(track_event::kAnnotationString, std::get<std::string_view>(value));
  }
  event_.Sub(track_event::kDebugAnnotations, annotation_);
  return *this;
}

}  // namespace attune::exports::perfetto
