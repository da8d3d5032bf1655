/// The functions of attune/probe.h.

#include "attune/probe.h"

#include "probe/core.h"
#include "wire/message.h"

using attune::probe::Emit;
using attune::wire::ChannelFunction;
using attune::wire::EventKind;

namespace {

struct ChannelMessage {
  uint32_t channel;
  uint64_t bytes;
  int32_t tag;
  uint64_t begin;
};

void Told(EventKind kind, ChannelFunction function, const ChannelMessage& message, const void* site) {
  if (message.begin == 0) return;  // nobody listened then
  attune::probe::EmitAt(
      [] { return attune::probe::Ticks(); }, kind,
      static_cast<uint16_t>(attune::wire::kMessageFirstChannelFunction + static_cast<unsigned>(function)),
      uint32_t{attune::wire::kMessageNamedChannel} << 16 | attune::wire::kMessageNoCpu, message.begin,
      uint64_t{message.channel} << 32 | static_cast<uint32_t>(message.tag), message.bytes,
      reinterpret_cast<uintptr_t>(site));
}

}  // namespace

__thread bool attune::probe::g_idle __attribute__((tls_model("initial-exec"))) = false;

static_assert(int{ATTUNE_LEVEL_OFF} == int{attune::wire::kRingLevelOff});
static_assert(int{ATTUNE_LEVEL_PROFILE} == int{attune::wire::kRingLevelProfile});
static_assert(int{ATTUNE_LEVEL_BLAME} == int{attune::wire::kRingLevelBlame});
static_assert(int{ATTUNE_LEVEL_TRACE} == int{attune::wire::kRingLevelTrace});
static_assert(int{ATTUNE_LEVEL_STAMPED} == int{attune::wire::kRingLevelStamped});

extern "C" {

attune_name_t attune_probe_name(const char* text) { return attune::probe::RegisterName(text); }
void attune_probe_region_begin(attune_name_t name) { Emit(EventKind::kRegionBegin, name); }
void attune_probe_region_end(attune_name_t name) { Emit(EventKind::kRegionEnd, name); }
void attune_probe_instant(attune_name_t name) { Emit(EventKind::kInstant, name); }
void attune_probe_instant_value(attune_name_t name, int64_t value) { Emit(EventKind::kInstant, name, value); }
void attune_probe_counter(attune_name_t name, int64_t value) { Emit(EventKind::kCounter, name, value); }
void attune_probe_send(attune_name_t name, uint64_t bytes, uint64_t tag) { Emit(EventKind::kSend, name, bytes, tag); }
void attune_probe_receive(attune_name_t name, uint64_t bytes, uint64_t tag) {
  Emit(EventKind::kReceive, name, bytes, tag);
}
uint64_t attune_probe_channel_begin(void) { return attune::probe::Ticks(); }
void attune_probe_channel_send(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin) {
  Told(EventKind::kMessageSent, ChannelFunction::kChannelSend, {channel, bytes, tag, begin},
       __builtin_return_address(0));
}
void attune_probe_channel_recv(attune_name_t channel, uint64_t bytes, int32_t tag, uint64_t begin) {
  Told(EventKind::kMessageReceived, ChannelFunction::kChannelRecv, {channel, bytes, tag, begin},
       __builtin_return_address(0));
}
void attune_probe_idle(int is_idle) { attune::probe::g_idle = is_idle != 0; }

}  // extern "C"
