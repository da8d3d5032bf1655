#include "probe/hook/trace.h"

#include <algorithm>

namespace attune::probe::hook {
namespace {

void Put(ThreadState* state, uint64_t word) {
  const uint64_t at = ReserveTrace(state->slot);
  const uint64_t lap = (at & (state->trace_mask + 1)) != 0;
  state->trace[at & state->trace_mask] = word | lap << wire::kTraceOpBits;
}

void PutClock(ThreadState* state, uint64_t ticks) {
  Put(state, static_cast<uint64_t>(TraceOp::kClock) | ticks << wire::kTraceClockShift);
  state->trace_clock = ticks;
  state->slot->trace_clock = ticks;
}

/// Whether the thread has a trace now. @param ticks of its first event; 0: not taken
bool Open(ThreadState* state, uint64_t ticks) {
  if (state->trace != nullptr) return true;
  wire::RingSlot* slot = state->slot;
  if (__atomic_load_n(&slot->trace_ready, __ATOMIC_ACQUIRE) != 1) return false;
  state->trace_mask = g_process.trace_words - 1;
  state->trace = g_process.traces + static_cast<uint64_t>(slot - g_process.slots) * g_process.trace_words;
  slot->trace_pid = static_cast<uint32_t>(slot->pid);
  slot->trace_tid = static_cast<uint32_t>(slot->tid);
  const uint64_t ids = slot->trace_tid | uint64_t{slot->trace_pid} << wire::kTraceTidBits;
  Put(state, static_cast<uint64_t>(TraceOp::kOwner) | ids << wire::kTraceClockShift);
  PutClock(state, ticks != 0 ? ticks : Ticks());
  state->trace_due = 0;  // positions of another slot are other ones
  state->trace_spacing = 1;
  return true;
}

/// The number of what a word is about; 0: the table is full there.
uint32_t Define(uint64_t object, uint64_t site, SyncKind kind) {
  const uint64_t key = wire::TraceKey(object, site, kind);
  for (uint32_t probe = 0; probe < wire::kTraceDefinitionProbes; ++probe) {
    const uint32_t index = static_cast<uint32_t>((key >> 32) + probe) % wire::kTraceDefinitions;
    if (index == 0) continue;
    wire::TraceDefinition* definition = &g_process.definitions[index];
    uint64_t expected = 0;
    if (__atomic_compare_exchange_n(&definition->key, &expected, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      definition->object = object;
      definition->site = site;
      definition->kind = static_cast<uint8_t>(kind);
      __atomic_store_n(&definition->ready, 1, __ATOMIC_RELEASE);
      return index;
    }
    if (expected != key) continue;
    // Whoever is about to define it means the same; that two things have one key is seen where both are there.
    if (__atomic_load_n(&definition->ready, __ATOMIC_ACQUIRE) != 1 ||
        (definition->object == object && definition->site == site && definition->kind == static_cast<uint8_t>(kind)))
      return index;
  }
  return 0;
}

}  // namespace

void SpaceTimes(ThreadState* state, uint64_t ticks) {
  const uint64_t apart = ticks - state->trace_stamped;
  const uint64_t most = std::min<uint64_t>(wire::kTraceStampMost, (state->trace_mask + 1) / 8);
  if (apart > 4 * wire::kTraceStampTicks) {
    state->trace_spacing = 1;
  } else if (apart < wire::kTraceStampTicks && state->trace_spacing < most) {
    state->trace_spacing *= 2;
  }
  state->trace_stamped = ticks;
  state->trace_due = state->slot->trace_head + state->trace_spacing;
}

uint64_t DueTime(ThreadState* state) {
  const uint64_t ticks = TicksBehind();
  SpaceTimes(state, ticks);
  return ticks;
}

void TraceSlowly(TraceOp op, uint64_t object, uint64_t site, SyncKind kind, uint16_t* definition, uint64_t ticks) {
  ThreadState* state = ThreadWithTable();
  if (state == nullptr) return;
  if (!Open(state, ticks)) {
    ++state->slot->trace_lost;
    return;
  }
  uint32_t number = definition != nullptr ? *definition : 0;
  if (number == 0) number = Define(object, site, kind);
  if (definition != nullptr) *definition = static_cast<uint16_t>(number);
  if (ticks != 0 && ticks - state->trace_clock > wire::kTraceTimeMask / 2) {
    if (ticks > state->trace_clock)
      PutClock(state, ticks);
    else
      ticks = 0;  // taken before the clock's, by code that a signal interrupted: it is between its neighbours
  }
  Put(state, wire::TraceWord(op, 0, number, ticks));
}

}  // namespace attune::probe::hook
