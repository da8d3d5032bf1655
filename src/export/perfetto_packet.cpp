#include "export/perfetto_packet.h"

namespace attune::exports::perfetto {

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

Proto& PacketWriter::NewEvent(track_event::Type type, uint64_t track) {
  event_.Clear();
  return event_.Varint(track_event::kType, type).Varint(track_event::kTrackUuid, track);
}

void PacketWriter::Annotate(std::string_view name, int64_t value) {
  annotation_.Clear();
  annotation_.Text(track_event::kAnnotationName, name)
      .Varint(track_event::kAnnotationInt, static_cast<uint64_t>(value));
  event_.Sub(track_event::kDebugAnnotations, annotation_);
}

void PacketWriter::Annotate(std::string_view name, std::string_view text) {
  annotation_.Clear();
  annotation_.Text(track_event::kAnnotationName, name).Text(track_event::kAnnotationString, text);
  event_.Sub(track_event::kDebugAnnotations, annotation_);
}

}  // namespace attune::exports::perfetto
