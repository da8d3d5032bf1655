/// One-time initialisation: whoever comes while another thread is at it waits until that one is done.
///
/// Exceptions of the initialiser, or its cancellation, unwind through these functions.

#include <threads.h>

#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {
namespace {

/// glibc's control word. Of two threads that come first at the same moment, the one that waits may not be seen.
bool IsBeingDone(const int* control) {
  constexpr int kInProgress = 1;
  constexpr int kDone = 2;
  return (__atomic_load_n(control, __ATOMIC_RELAXED) & (kInProgress | kDone)) == kInProgress;
}

}  // namespace

ATTUNE_HOOK int pthread_once(pthread_once_t* control, void (*initialise)()) {
  if (__builtin_expect(!IsBeingDone(control), 1) || !Recording()) return g_real.pthread_once(control, initialise);
  return WaitFor(control, ATTUNE_SITE, SyncKind::kOnce, [=] { return g_real.pthread_once(control, initialise); });
}

ATTUNE_HOOK void call_once(once_flag* control, void (*initialise)()) {
  if (__builtin_expect(!IsBeingDone(&control->__data), 1) || !Recording()) return g_real.call_once(control, initialise);
  WaitFor(control, ATTUNE_SITE, SyncKind::kOnce, [=] {
    g_real.call_once(control, initialise);
    return 0;
  });
}

}  // namespace attune::probe::hook
