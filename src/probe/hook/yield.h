#pragma once
/// Yielding the CPU before waiting by address, as std::atomic::wait, std::counting_semaphore and std::barrier do: where
/// others want the CPU, a yield takes as long as they have it, and is part of the wait.

#include "probe/hook/account.h"

namespace attune::probe::hook {

/// A thread's last yields that took long.
struct Yields {
  uint64_t begin = 0, end = 0;     ///< ticks; of yields that followed one another
  const void* site = nullptr;      ///< call site of the yields
  const void* waits_by = nullptr;  ///< the yields' site, of a wait by address that followed them, of which the rest is
  const void* object = nullptr;
  const void* place = nullptr;
  SyncKind kind = SyncKind::kNone;
};

extern __thread Yields g_yields __attribute__((tls_model("initial-exec")));

/// Begin of a wait by address: that of the yields in front of it, else `now`. @param now ticks
inline uint64_t BeginWithYields(const void* object, const void* place, SyncKind kind, uint64_t now) {
  constexpr uint64_t kAtOnce = 5 * wire::kShortWaitTicks;
  Yields& yields = g_yields;
  if (yields.site == nullptr || now - yields.end > kAtOnce) return now;
  yields.waits_by = yields.site;
  yields.object = object;
  yields.place = place;
  yields.kind = kind;
  yields.site = nullptr;
  return yields.begin;
}

}  // namespace attune::probe::hook
