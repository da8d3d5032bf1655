#include "probe/hook/yield.h"

#include <sched.h>

#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {

__thread Yields g_yields __attribute__((tls_model("initial-exec"))) = {};

namespace {

/// The wait may be over when others have given the CPU back: then no wait by address follows. All that
/// meet at a barrier are counted there, once.
[[gnu::noinline]] void Yielded(const void* site, uint64_t before, uint64_t now) {
  Yields& yields = g_yields;
  if (yields.waits_by == site && yields.kind != SyncKind::kBarrier)
    return WaitedUntil(yields.object, yields.place, yields.kind, before, now, true);
  if (yields.site != site || before - yields.end > wire::kShortWaitTicks) yields.begin = before;
  yields.end = now;
  yields.site = site;
}

}  // namespace

ATTUNE_HOOK int sched_yield() noexcept {
  if (!Recording()) return g_real.sched_yield();
  const uint64_t before = Ticks();
  const int result = g_real.sched_yield();
  const uint64_t now = Ticks();
  if (__builtin_expect(now - before >= wire::kShortWaitTicks, 0)) {
    const int saved_errno = errno;
    Yielded(ATTUNE_SITE, before, now);
    errno = saved_errno;
  }
  return result;
}

}  // namespace attune::probe::hook
