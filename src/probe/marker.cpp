/// The functions of attune/probe.h.

#include "attune/probe.h"

#include "probe/core.h"

using attune::probe::Emit;
using attune::wire::EventKind;

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

}  // extern "C"
