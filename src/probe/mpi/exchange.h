#pragma once
/// Messages in quick succession. If two ranks send each other small messages and answer at once, the probe's work
/// between a receive and the next send delays the other rank, while work after the send does not: the rank waits then
/// anyway. In such an exchange a thread
///   - defers the record of a receive to the next call, after the send;
///   - reads the clock for the begin of only one in kMeasured small sends: the others are taken to have lasted as long
///   as
///     the last measured one, and to have begun after the end of the receive.
/// The first call that does not follow immediately ends this mode.

#include "probe/mpi/record.h"

namespace attune::probe::mpi {

/// A call within so many ticks of the last one follows immediately: about a microsecond.
inline constexpr uint64_t kQuickTicks = 3000;
/// Number of such calls before a record is deferred.
inline constexpr uint32_t kQuickCalls = 16;
inline constexpr uint32_t kMeasured = 16;
inline constexpr int kSmallCount = 512;
inline constexpr uint64_t kSmallBytes = 4096;

/// Whether the begin of a send is not measured. @param count number of elements
[[gnu::always_inline]] inline bool FollowsAtOnce(uint16_t function, int count) {
  constexpr uint16_t kSend = 3;  // catalog/mpi.txt
  return function == kSend && count <= kSmallCount && __builtin_expect(HasLateReceive(), 0) &&
         ++g_thread->exchange.untimed % kMeasured != 0;
}

/// The estimated begin of a call that was not measured. @pre FollowsAtOnce  @param bytes sent
inline uint64_t LikelyBegin(uint64_t end, uint64_t bytes) {
  ThreadState* state = g_thread;
  const uint64_t received = state->late_receive.words[1];
  const uint64_t most = end > received ? end - received : 0;
  if (most > 2 * kQuickTicks) state->exchange.quick = 0;
  return bytes > kSmallBytes || most < state->exchange.send_ticks ? received : end - state->exchange.send_ticks;
}

/// Notes a counted blocking call. @param is_measured whether its begin was measured
[[gnu::always_inline]] inline void NoteCall(const Call& call, bool is_measured) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1) return;
  ThreadState::Exchange& exchange = state->exchange;
  if (is_measured) exchange.quick = call.Begin() - exchange.ended < kQuickTicks ? exchange.quick + 1 : 0;
  exchange.ended = call.End();
}

[[gnu::always_inline]] inline void NoteSent(const Call& call, uint64_t bytes) {
  NoteCall(call, true);
  if (reinterpret_cast<uintptr_t>(g_thread) <= 1 || bytes > kSmallBytes) return;
  const uint64_t spent = call.End() - call.Begin();
  g_thread->exchange.send_ticks = spent < kQuickTicks ? spent : kQuickTicks;
}

/// Notes a receive. Call it after Count().
[[gnu::always_inline]] inline void NoteReceived(const Call& call) {
  NoteCall(call, true);
  if (reinterpret_cast<uintptr_t>(g_thread) > 1) g_thread->exchange.received = g_thread->last;
}

/// Defers counting and writing a receive to the next call. @return false: the caller must do it now
template <class Abi>
[[gnu::always_inline]] inline bool PutOff(const Call& call, const Communicator* communicator,
                                          const typename Abi::Status& status) {
  ThreadState* state = g_thread;
  if (reinterpret_cast<uintptr_t>(state) <= 1 || state->exchange.quick < kQuickCalls) return false;
  wire::SyncEntry* entry = state->exchange.received;
  const uint64_t site = hook::Address(call.Site());
  if (entry == nullptr || entry->object != call.Function() || entry->site != site) return false;
  if (state->late_receive.entry != nullptr || state->busy != 0) return false;
  if (status.source == Abi::kProcNull || Abi::IsCancelled(status)) return false;
  uint64_t* words = state->late_receive.words;
  words[0] = wire::RingWord0(static_cast<uint8_t>(wire::EventKind::kMessageReceived), ThreadState::LateReceive::kWords,
                             call.Function(), PlaceOf(communicator));
  words[1] = call.End();
  words[2] = call.Begin();
  words[3] = uint64_t{communicator->Peer(status.source)} << 32 | static_cast<uint32_t>(status.tag);
  words[4] = Abi::Bytes(status);
  words[5] = site;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  state->late_receive.entry = entry;
  state->limit = 0;  // the next event writes it first
  NoteCall(call, true);
  return true;
}

}  // namespace attune::probe::mpi
