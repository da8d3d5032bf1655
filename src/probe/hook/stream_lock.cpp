/// Locks of streams that a program takes itself, over several calls (flockfile): they are recursive mutexes, whose
/// object is the stream. Those inside printf and the like are not seen.

#include <errno.h>
#include <stdio.h>

#include "probe/hook/real.h"
#include "probe/hook/wrap.h"

namespace attune::probe::hook {

ATTUNE_HOOK void flockfile(FILE* stream) noexcept {
  if (!Recording()) return g_real.flockfile(stream);
  if (g_real.ftrylockfile(stream) == 0) return Acquired(stream, ATTUNE_SITE, SyncKind::kMutex);
  const auto call = [=] {
    g_real.flockfile(stream);
    return 0;
  };
  WaitFor<Owner::kUnknown>(stream, ATTUNE_SITE, SyncKind::kMutex, call);
}

ATTUNE_HOOK int ftrylockfile(FILE* stream) noexcept {
  const int result = g_real.ftrylockfile(stream);
  if (result == 0 && Recording()) Acquired(stream, ATTUNE_SITE, SyncKind::kMutex, IfTaken::kGivesUp);
  return result;
}

ATTUNE_HOOK void funlockfile(FILE* stream) noexcept {
  const auto call = [=] {
    g_real.funlockfile(stream);
    return 0;
  };
  if (Recording() && HoldsAny()) {
    ReleaseHeld(stream, SyncKind::kMutex, [] { return false; }, call);
  } else {
    call();
  }
}

}  // namespace attune::probe::hook
