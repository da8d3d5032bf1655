// What a recording of somebody else makes a sink be told, and the lines that become of it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "sink/delivery.h"
#include "sink/influxdb/line_protocol.h"
#include "sink/sink_channel.h"
#include "wire/frame.h"

namespace {

using attune::influxdb::LineMaker;
using attune::influxdb::Lines;

struct State {
  LineMaker maker{1, "host"};
  Lines lines;
};

template <class Told>
int Take(void* state, const Told* told) {
  static_cast<State*>(state)->maker.Take(*told);
  return 0;
}

template <class Told>
int Add(void* state, const Told* told) {
  auto& own = *static_cast<State*>(state);
  const auto before = std::count(own.lines.text.begin(), own.lines.text.end(), '\n');
  own.maker.Add(*told, own.lines);
  const auto after = std::count(own.lines.text.begin(), own.lines.text.end(), '\n');
  // One point is one line, whatever its texts are.
  if constexpr (!std::is_same_v<Told, attune_sink_samples>) {
    if (after > before + 1) std::abort();
  } else {
    if (static_cast<uint64_t>(after - before) > uint64_t{told->row_count} * told->column_count) std::abort();
  }
  if (!own.lines.text.empty() && own.lines.text.back() != '\n') std::abort();
  if (own.lines.text.size() > (1u << 20)) own.lines = {};
  return 0;
}

/// Gives every frame its checksum: what is behind that is what is tried here.
std::vector<char> WithChecksums(const uint8_t* data, size_t size) {
  using attune::wire::FrameHeader;
  std::vector<char> bytes(data, data + size);
  for (size_t at = 0; at + sizeof(FrameHeader) <= bytes.size();) {
    FrameHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.payload_bytes > bytes.size() - at - sizeof header) break;
    header.crc32c = 0;
    const uint32_t crc = attune::wire::Crc32c(0, &header, sizeof header);
    header.crc32c = attune::wire::Crc32c(crc, bytes.data() + at + sizeof header, header.payload_bytes);
    std::memcpy(bytes.data() + at, &header, sizeof header);
    at += sizeof header + header.payload_bytes;
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  attune_sink_plugin plugin{};
  plugin.element = Take<attune_sink_element>;
  plugin.series = Take<attune_sink_series>;
  plugin.samples = Add<attune_sink_samples>;
  plugin.label = Add<attune_sink_label>;
  plugin.gap = Add<attune_sink_gap>;
  plugin.process = Add<attune_sink_process>;
  plugin.alarm = Add<attune_sink_alarm>;
  State state;
  attune::sink::Delivery delivery(plugin, &state);
  attune::sink::FrameStream stream;
  stream.Append(WithChecksums(data, size));
  while (true) {
    const auto batch = stream.Next();
    if (!batch.ok() || !batch->has_value()) return 0;
    // Runs of zeros make cells from nothing; what is much is slow, and no more than that.
    if ((*batch)->rows * ((*batch)->ints.size() + 1) > 100'000) return 0;
    delivery.Take(**batch);
    if (delivery.refused() > delivery.handled()) std::abort();
  }
}
