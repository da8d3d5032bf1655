#pragma once
/// Calls that the session asks for (wire::RingCall), made by a thread of the program in a hook that is a safe point: a
/// function that no signal handler may call, in code outside of the library that is to be called.

#include <stdint.h>

#include "probe/core.h"

namespace attune::probe {

/// Number of the last command that this process has looked at.
extern uint32_t g_last_command __attribute__((visibility("hidden")));

/// Carries it out if it is for this process and the place is none of the library's. Keeps errno.
[[gnu::noinline]] void CarryOutCommand(const void* site);

/// Call site of a safe point that the program declares itself: no code is there, and no library.
inline constexpr uintptr_t kDeclaredSafePoint = UINTPTR_MAX;

/// A safe point. @param site the hook's call site  @cost two loads
[[gnu::always_inline]] inline void ServeCommand(const void* site) {
  const wire::RingHeader* header = g_process.header;
  if (__builtin_expect(header != nullptr, 1) &&
      __builtin_expect(
          __atomic_load_n(&header->command, __ATOMIC_RELAXED) != __atomic_load_n(&g_last_command, __ATOMIC_RELAXED), 0))
    CarryOutCommand(site);
}

}  // namespace attune::probe
