#pragma once
/// Common parts of the MPI hooks: count a call with its time, and write completed operations to the ring.

#include <errno.h>

#include "probe/command.h"
#include "probe/hook/account.h"
#include "probe/hook/channel.h"
#include "probe/hook/wrap.h"
#include "probe/mpi/communicators.h"
#include "probe/mpi/requests.h"

namespace attune::probe::mpi {

/// Whether this call is to be recorded.
[[gnu::always_inline]] inline bool Begins() {
  if (!hook::Recording()) return false;
  // A call that was left by a longjmp or an exception is deeper on the stack than the next one.
  const uintptr_t outermost = hook::g_mpi_stack;
  return __builtin_expect(outermost == 0, 1) || reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) >= outermost;
}

/// Whether the thread's last receive is not written yet (mpi/exchange.h).
[[gnu::always_inline]] inline bool HasLateReceive() {
  const ThreadState* state = g_thread;
  return reinterpret_cast<uintptr_t>(state) > 1 && state->late_receive.entry != nullptr;
}

/// A recorded call of MPI. @pre Begins()
class Call {
 public:
  [[gnu::always_inline]] Call(uint16_t function, const void* site)
      : site_(__builtin_expect(__atomic_load_n(&g_has_bindings, __ATOMIC_RELAXED), 0) ? SiteBehindBindings(site)
                                                                                      : site),
        function_(function) {
    ServeCommand(site_);
    hook::g_mpi_stack = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  }
  [[gnu::always_inline]] ~Call() { hook::g_mpi_stack = 0; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Makes the real call, directly between the two clock readings.
  template <class Real, class... Arguments>
  [[gnu::always_inline]] auto Make(const Real& real, Arguments... arguments) {
    begin_ = Ticks();
    auto result = real(arguments...);
    end_ = Ticks();
    return result;
  }

  /// As Make, without the clock reading before the call. SetBegin() must follow.
  template <class Real, class... Arguments>
  [[gnu::always_inline]] auto MakeUntimed(const Real& real, Arguments... arguments) {
    auto result = real(arguments...);
    end_ = Ticks();
    return result;
  }
  void SetBegin(uint64_t ticks) { begin_ = ticks; }

  /// Counts the call. Call it after Make, before any record is written.
  [[gnu::always_inline]] void Count() {
    if (__builtin_expect(HasLateReceive(), 0)) TellEndedWaits(g_thread);
    wire::SyncEntry* entry = hook::EntryOf(function_, hook::Address(site_), wire::SyncKind::kMpi);
    if (__builtin_expect(entry == nullptr, 0)) return CountNothing();
    if (__builtin_expect(entry->count == 0, 0)) end_ = Ticks();  // its module may have been reported meanwhile
    AddCall(entry, end_ > begin_ ? end_ - begin_ : 0);
  }

  const void* Site() const { return site_; }
  uint16_t Function() const { return function_; }
  uint64_t Begin() const { return begin_; }
  uint64_t End() const { return end_; }

 private:
  [[gnu::noinline]] void CountNothing();

  const void* site_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint16_t function_;
};

inline uint32_t PlaceOf(const Communicator* communicator) { return communicator->index << 16 | hook::Cpu(); }

/// Records a message for which the call waited from its begin to its end.
[[gnu::always_inline]] inline void TellMessage(wire::EventKind kind, const Call& call, const Communicator* communicator,
                                               uint32_t peer, int32_t tag, uint64_t bytes) {
  EmitAt([&call] { return call.End(); }, kind, call.Function(), PlaceOf(communicator), call.Begin(),
         uint64_t{peer} << 32 | static_cast<uint32_t>(tag), bytes, hook::Address(call.Site()));
}

/// Records an operation that an earlier call began. @param since when the thread waits for it; 0: it does not
void TellRequest(const Call& call, const Request& request, uint64_t since);

/// Bytes of one element of a type. 0: not known. @cost 5 ns for predefined types
template <class Abi>
uint64_t SizeOf(typename Abi::Handle type);

/// Bytes of so many elements.
template <class Abi>
inline uint64_t BytesOf(int count, typename Abi::Handle type) {
  return count > 0 ? static_cast<uint64_t>(count) * SizeOf<Abi>(type) : 0;
}

/// Preserves errno while the probe calls the library.
class KeptErrno {
 public:
  KeptErrno() : saved_(errno) {}
  ~KeptErrno() { errno = saved_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int saved_;
};

/// A call that is only counted.
template <class Real>
[[gnu::always_inline]] inline auto Plain(Call&& call, const Real& real) {
  const auto result = call.Make(real);
  call.Count();
  return result;
}

}  // namespace attune::probe::mpi
