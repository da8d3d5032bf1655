// Sizes of buffers of sockets and pipes, and Nagle's algorithm, which lets small pieces wait for acknowledgements.
//
// A side that waits for room or for data at each piece costs two switches a piece. With buffers of many pieces both
// sides work through many of them in a turn.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "tunlet/tunlet.h"

namespace attune::tunlet {
namespace {

struct Buffer {
  std::string_view knob;
  int64_t small;  ///< below it is worth more
  int64_t wanted;
};
constexpr std::array<Buffer, 3> kBuffers{{{"socket.send-buffer", 262'144, 2'097'152},
                                          {"socket.receive-buffer", 262'144, 2'097'152},
                                          {"pipe.size", 131'072, 1'048'576}}};

constexpr std::string_view kNoDelay = "socket.no-delay";
constexpr std::string_view kDelayedAck = "delayed-ack";

class Channels : public Tunlet {
 public:
  std::string_view Name() const override { return "channels"; }
  std::string_view About() const override {
    return "larger buffers of sockets and pipes whose sides wait for each other";
  }

  std::vector<Proposal> Propose(const Observation& seen) const override {
    std::vector<Proposal> proposals;
    for (const Buffer& buffer : kBuffers) {
      const model::Finding* finding = seen.FindingFor(buffer.knob);
      if (finding == nullptr) continue;
      int64_t least = buffer.wanted;
      // One that the kernel sizes by itself is no number.
      for (const std::string& value : seen.ValuesOf(buffer.knob))
        least = std::min(least, NumberOf(value, buffer.wanted));
      if (least >= buffer.small) continue;
      proposals.push_back({.knob = std::string(buffer.knob),
                           .value = std::to_string(buffer.wanted),
                           .reason = fmt::format("one side waits for the other at a buffer of {} bytes", least),
                           .finding = finding->id,
                           .expected_gain = seen.GainOf(*finding)});
    }
    const model::Finding* held = seen.FindingFor(kNoDelay);
    if (held == nullptr || held->finding_class != kDelayedAck) return proposals;
    const std::vector<std::string>& values = seen.ValuesOf(kNoDelay);
    if (std::ranges::find(values, "off") == values.end()) return proposals;
    // What is left of a program that mostly waits for acknowledgements is the CPU time that it takes: of late, since a
    // whole run has its begin in it.
    double gain = seen.GainOf(*held);
    if (gain >= 1 && seen.cpus_used > 0) gain = std::max(gain, 1 / seen.cpus_used - 1);
    proposals.push_back({.knob = std::string(kNoDelay),
                         .value = "on",
                         .reason = "small pieces wait for acknowledgements of those before them",
                         .finding = held->id,
                         .expected_gain = gain});
    return proposals;
  }
};

}  // namespace

std::unique_ptr<Tunlet> MakeChannelsTunlet() { return std::make_unique<Channels>(); }

}  // namespace attune::tunlet
