// What a sink's process says to the session: the plug-in in it may have overwritten anything.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "sink/sink_channel.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace attune;
  sink::FrameStream stream;
  // In two pieces: a frame is cut anywhere.
  const std::span<const char> bytes(reinterpret_cast<const char*>(data), size);
  const size_t cut = size == 0 ? 0 : data[0] % size;
  for (const auto piece : {bytes.first(cut), bytes.subspan(cut)}) {
    stream.Append(piece);
    while (true) {
      const auto batch = stream.Next();
      if (!batch.ok()) return 0;
      if (!batch->has_value()) break;
      sink::HelloFrom(**batch);
      sink::OpenFrom(**batch);
      sink::OpenedFrom(**batch);
      const sink::SinkProgress progress = sink::ProgressFrom(**batch);
      if (progress.message.size() > 4096) std::abort();
    }
  }
  return 0;
}
