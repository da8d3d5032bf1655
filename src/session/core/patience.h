#pragma once
/// Waiting for another process of attune's, which somebody may have stopped, or which may hang. The observed program
/// waits no longer for it than this.

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"

namespace attune::session {

/// Time limits on a peer that does not answer.
struct Patience {
  int64_t stopped_ns = 2'000'000'000;  ///< a process that is stopped (SIGSTOP, a debugger)
  int64_t idle_ns = 10'000'000'000;    ///< one that uses no CPU
  int64_t most_ns = 120'000'000'000;   ///< in any case
};

/// Until a descriptor is readable or its other end is closed.
/// @param pid who is waited for; 0: not known, then it counts as idle
/// @return kTimeout: its patience is over; the message says why
Status AwaitReadable(int fd, pid_t pid, const Patience& patience = {});

}  // namespace attune::session
