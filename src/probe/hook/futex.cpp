/// Waiting by address: what std::atomic::wait, std::barrier, std::latch, std::counting_semaphore, the locks of Rust and
/// a program's own locks do by syscall(SYS_futex).
///
/// Programs make any system call through this function, in any state: in a child of vfork, on a new stack after clone,
/// before there is a thread. Whatever is no call for a futex is therefore left to the real function by a jump, with all
/// registers and the stack as they came. (After one for seccomp the probe makes no further system calls: channel.cpp.)

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "probe/hook/real.h"
#include "probe/hook/wrap.h"
#include "probe/hook/yield.h"

namespace attune::probe::hook {
namespace {

struct FutexCall {
  long address, operation, value, limit, address2, value3;

  long Real() const { return g_real.syscall(SYS_futex, address, operation, value, limit, address2, value3); }
};

/// Whether a call that ended so did wait. One that finds another value than it expects does not, nor does a wrong one.
bool HasWaited(long result, int error) { return result == 0 || error == ETIMEDOUT || error == EINTR; }

/// The last thread at a barrier of the C++ library wakes the others, and takes part all the same.
void Woke(const void* object, const void* site) {
  const Caller caller = FindCaller(Address(site));
  const auto* place = reinterpret_cast<const void*>(caller.site);
  if (caller.meaning != SyncKind::kBarrier) return Counted(object, place, SyncKind::kWake);
  const uint64_t now = Ticks();
  WaitedUntil(object, place, SyncKind::kBarrier, now, now, true);
}

[[gnu::noinline]] long Futex(const FutexCall& call, const void* site) {
  const auto* object = reinterpret_cast<const void*>(call.address);
  const long operation = Recording() ? call.operation & FUTEX_CMD_MASK : -1;
  if (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) {
    const Caller caller = FindCaller(Address(site));
    const auto* place = reinterpret_cast<const void*>(caller.site);
    const SyncKind kind = caller.meaning == SyncKind::kNone ? SyncKind::kFutex : caller.meaning;
    if (kind == SyncKind::kFuture) object = reinterpret_cast<const void*>(wire::kCallObject);
    const uint64_t before = BeginWithYields(object, place, kind, Ticks());
    BeginWait(object, place, kind, before);
    const long result = call.Real();
    const int saved_errno = errno;
    EndWait();
    if (HasWaited(result, saved_errno)) Waited(object, place, kind, before, result == 0);
    errno = saved_errno;
    return result;
  }
  if ((operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET) && object != nullptr) Woke(object, site);
  return call.Real();
}

}  // namespace

#if defined(__x86_64__)

/// As syscall(); comes by a jump, so that the caller is the program.
extern "C" __attribute__((visibility("hidden"), used)) long attune_probe_futex(long, long a, long b, long c, long d,
                                                                               long e, long f) {
  return Futex({a, b, c, d, e, f}, ATTUNE_SITE);
}

// Not compiled: the seventh argument is on the caller's stack. A compiler reads it and puts it back there on the way;
// but where less were given, that is something else of the caller's, which others may be writing to.
static_assert(SYS_futex == 202 && SYS_seccomp == 317 && offsetof(Real, syscall) == 0);
__asm__(R"(
  .pushsection .text
  .balign 16
  .globl syscall
  .type syscall, @function
syscall:
  .cfi_startproc
  cmpq $202, %rdi
  je attune_probe_futex
  cmpq $317, %rdi
  je 1f
  jmpq *attune_probe_real(%rip)
1:
  movb $1, attune_probe_is_sandboxed(%rip)
  jmpq *attune_probe_real(%rip)
  .cfi_endproc
  .size syscall, . - syscall
  .popsection
)");

#else

/// It is declared with any number of arguments; all seven come in registers in any case.
ATTUNE_HOOK long Syscall(long number, long a, long b, long c, long d, long e, long f) __asm__("syscall");

long Syscall(long number, long a, long b, long c, long d, long e, long f) {
  if (__builtin_expect(number == SYS_futex, 0)) return Futex({a, b, c, d, e, f}, ATTUNE_SITE);
  if (__builtin_expect(number == SYS_seccomp, 0)) attune_probe_is_sandboxed = 1;
  return g_real.syscall(number, a, b, c, d, e, f);
}

#endif

}  // namespace attune::probe::hook
